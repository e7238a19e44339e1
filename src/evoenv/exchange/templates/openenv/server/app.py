"""The HTTP and WebSocket server: `uvicorn server.app:app` in the package's directory, or `server` once installed."""

import argparse
import os

import uvicorn
from openenv.core.env_server.http_server import create_app

try:
    from ..models import EvoEnvAction, EvoEnvObservation
except ImportError:  # run from the package's directory, where `server` is at the top
    from models import EvoEnvAction, EvoEnvObservation

from .evoenv_environment import NAME, EvoEnvEnvironment

SESSIONS = int(os.environ.get("EVOENV_SESSIONS", "64"))
"""Sessions at a time; they share the processes that run the environments."""

app = create_app(EvoEnvEnvironment, EvoEnvAction, EvoEnvObservation, env_name=NAME, max_concurrent_envs=SESSIONS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    uvicorn.run(app, host=arguments.host, port=arguments.port)


if __name__ == "__main__":
    main()
