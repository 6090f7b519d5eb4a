"""Moto's S3, with what it does not check: the signatures of addresses and the sums of contents.

The signature is computed here anew as "Authenticating Requests: Using Query Parameters (AWS Signature Version 4)" describes it.
"""

import base64
import hashlib
import hmac
import io
import logging
import threading
from urllib.parse import quote, unquote

from moto.backends import get_backend
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

SIGNATURE = "X-Amz-Signature"


def signature(environ, secret):
    """The signature that a request must have."""
    path, _, query = environ["REQUEST_URI"].partition("?")
    pairs = [pair.partition("=")[::2] for pair in query.split("&")]
    values = {name: unquote(value) for name, value in pairs}
    canonical_query = "&".join(
        f"{quote(name, safe='')}={quote(value, safe='-_.~')}" for name, value in sorted(values.items()) if name != SIGNATURE
    )
    names = values["X-Amz-SignedHeaders"].split(";")
    headers = "".join(f"{name}:{environ['HTTP_' + name.upper().replace('-', '_')].strip()}\n" for name in names)
    request = "\n".join(
        [environ["REQUEST_METHOD"], path, canonical_query, headers, ";".join(names), "UNSIGNED-PAYLOAD"]
    )
    scope = values["X-Amz-Credential"].split("/", 1)[1]
    to_sign = "\n".join(
        ["AWS4-HMAC-SHA256", values["X-Amz-Date"], scope, hashlib.sha256(request.encode()).hexdigest()]
    )
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return values[SIGNATURE], hmac.digest(key, to_sign.encode(), "sha256").hex()


class Checked:
    """An application that refuses requests with a wrong signature or a wrong sum."""

    def __init__(self, application, secret):
        self.application, self.secret = application, secret

    def __call__(self, environ, start_response):
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        given, expected = signature(environ, self.secret)
        if given != expected:
            start_response("403 Forbidden", [("Content-Type", "application/xml")])
            return [b"<Error><Code>SignatureDoesNotMatch</Code></Error>"]
        if environ["REQUEST_METHOD"] == "PUT":
            expected = base64.b64encode(hashlib.sha256(body).digest()).decode()
            if environ.get("HTTP_X_AMZ_CHECKSUM_SHA256") != expected:
                start_response("400 Bad Request", [("Content-Type", "application/xml")])
                return [b"<Error><Code>BadDigest</Code></Error>"]
        return self.application(environ, start_response)


def serve(bucket, secret):
    """Starts the service with a bucket. Returns its address."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    application = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", 0, Checked(application, secret), threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    # The bucket is made behind the check: tardy makes none.
    backend().create_bucket(bucket, "us-east-1")
    return address


def backend():
    """Moto's memory of buckets."""
    return get_backend("s3")["123456789012"]["aws"]


def bucket(name):
    """Moto's memory of a bucket."""
    return backend().get_bucket(name)
