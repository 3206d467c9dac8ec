"""Hello, World! as a plain ASGI app. It listens on PORT of 127.0.0.1."""

import os

import uvicorn


async def app(scope, receive, send):
    found = scope["path"] == "/"
    body = b"Hello, World!" if found else b"Not Found"
    await send(
        {
            "type": "http.response.start",
            "status": 200 if found else 404,
            "headers": [
                (b"content-type", b"text/plain; charset=utf-8"),
                (b"content-length", b"%d" % len(body)),
            ],
        }
    )
    await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(os.environ["PORT"]),
        # Named, so that uvicorn can't fall back on slower ones that are always there.
        loop="uvloop",
        http="httptools",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
    )
