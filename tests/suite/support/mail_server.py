"""A mail server of Debian's python3-aiosmtpd: it prints its port, and then each mail that it takes as a line of JSON.

usage: mail_server.py plain|starttls|injected|tls [CERTIFICATE KEY]

In the mode injected somebody on the way puts answers behind the one to STARTTLS.

With a certificate it wants the user "user" with the password "hunter2: 1". A recipient such as 550@… is refused with
that code, and 250.451@… when the mail was sent to it.
"""

import asyncio
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        code = address.partition("@")[0].partition(".")[0]
        if code.isdigit() and code != "250":
            return f"{code} 5.1.1 hunter2 is what you sent"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        code = envelope.rcpt_tos[0].partition("@")[0].partition(".")[2]
        if code:
            return f"{code} 4.3.0 hunter2 is what you sent"
        mail = {"from": envelope.mail_from, "to": envelope.rcpt_tos, "tls": server.transport.get_extra_info("ssl_object") is not None}
        mail |= {"user": session.authenticated, "mail": envelope.content.decode()}
        print(json.dumps(mail), flush=True)
        return "250 OK"


def authenticator(server, session, envelope, mechanism, data):
    return AuthResult(success=(data.login, data.password) == (b"user", b"hunter2: 1"), handled=False)


class Injected(SMTP):
    async def push(self, status):
        await super().push(status + "\r\n250 OK" * 8 if str(status).startswith("220 Ready") else status)


async def main(mode, files):
    context = None
    if files:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*files)
    login = {"authenticator": authenticator, "auth_required": True, "auth_require_tls": mode in ("starttls", "injected")} if files else {}
    starttls = {"tls_context": context, "require_starttls": True} if mode in ("starttls", "injected") else {}
    smtp = lambda: (Injected if mode == "injected" else SMTP)(Handler(), **login, **starttls)
    tls = context if mode == "tls" else None
    server = await asyncio.get_running_loop().create_server(smtp, "127.0.0.1", 0, ssl=tls)
    print(server.sockets[0].getsockname()[1], flush=True)
    # The end of the input is the end of the test.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


asyncio.run(main(sys.argv[1], sys.argv[2:]))
