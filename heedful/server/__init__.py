"""The live page: models behind a local web server, and what one may ask of them about a text. See docs/serve.md."""
