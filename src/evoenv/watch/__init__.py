"""`evoenv watch`: a run in the browser, while it trains and afterwards.

`folder` says which runs may be looked at. `documents` and the modules beside it turn what `evoenv.runs` reads into
plain JSON values, one document per view of the page. `server` answers with them (`guard` refuses whoever should not
ask, `playing` scores answers in the sandbox). The page itself is built from `web/` into `static/`. Nothing here writes
to a run.
"""
