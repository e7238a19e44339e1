// Says whether the committed bundle is what the sources give. Exit code 1 if not, with the files that differ.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const committed = join(here, "../src/evoenv/watch/static");
const built = mkdtempSync(join(tmpdir(), "evoenv-web-"));
try {
  execFileSync("npx", ["--no-install", "vite", "build", "--logLevel", "error"], {
    cwd: here,
    env: { ...process.env, EVOENV_WEB_OUT: built },
    stdio: "inherit",
  });
  const names = [...new Set([...readdirSync(built), ...readdirSync(committed)])].sort();
  const read = (folder, name) => (readdirSync(folder).includes(name) ? readFileSync(join(folder, name)) : Buffer.alloc(0));
  const differing = names.filter((name) => !read(built, name).equals(read(committed, name)));
  if (differing.length > 0) {
    console.error(`not what the sources give: ${differing.join(", ")}; run scripts/build-web.sh and commit src/evoenv/watch/static`);
    process.exitCode = 1;
  } else console.log(`${names.length} files are what the sources give`);
} finally {
  rmSync(built, { recursive: true, force: true });
}
