"""The double over TLS: a certificate of its own, and a stream that breaks instead of an answer."""

from __future__ import annotations

import os
import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

BROKEN_RECORD = b"\x17\x03\x03\x00\x20" + b"\x00" * 32
"""A record of application data that no key of the connection has made."""


def make_certificate(folder: Path, *names: str) -> Path:
    """A key and a certificate for 127.0.0.1 and these hosts, which signs itself, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Prolific's double")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.IPAddress(IPv4Address("127.0.0.1")), *(x509.DNSName(host) for host in names)]
            ),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path = folder / "double.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, form, plain)
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


def context_of(certificate: Path) -> ssl.SSLContext:
    """What a server needs to speak TLS with it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def break_stream(connection: ssl.SSLSocket) -> None:
    """Send what the other side cannot read, in place of an answer."""
    os.write(connection.fileno(), BROKEN_RECORD)
