import { render } from "preact";
import { App } from "./app";
import { openSource } from "./source";
import "uplot/dist/uPlot.min.css";
import "./style.css";

const root = document.getElementById("app");
if (root !== null) render(<App source={openSource()} />, root);
