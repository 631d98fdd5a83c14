"""The command line of the gateway, its start and its end."""
import argparse
import asyncio
import functools
import ipaddress
import logging
import math
import os
import pathlib
import re
import resource
import secrets
import signal
import socket
import stat
import sys

import uvicorn

from suf import _suf
from suf._aio import AsyncEncoder
from suf._errors import Error, InputError, PeerError, RefusedError, ResourceError
from suf.gateway.app import MOST_HEADERS, Gateway, say
from suf.gateway.metrics import Metrics
from suf.gateway.protocol import HEADERS, KEEP_ALIVE, TimedProtocol
from suf.gateway.texts import Texts

CODES = ((InputError, 2), (PeerError, 3), (RefusedError, 4), (ResourceError, 5))
OTHER_FILES = 128  # descriptors beside those of clients, with the connections that wait
BACKLOG = 64


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f'suf: gateway: {message}; see suf gateway --help', file=sys.stderr)
        sys.exit(2)


def number(kind, least, most=math.inf):
    """Returns a reader of numbers in a range."""
    def read(text):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most or math.isinf(value):
            raise argparse.ArgumentTypeError(f'takes a number from {least:g}' + (f' to {most:g}' if most < math.inf else ' on') + f', got {text[:40]!r}')
        return value
    return read


def model_name(text):
    if not re.fullmatch(r'[A-Za-z0-9._/-]{1,100}', text):
        raise argparse.ArgumentTypeError(f'takes 1 to 100 letters, digits and ._/-, got {text[:40]!r}')
    return text


def host_name(text):
    try:
        ipaddress.ip_address(text)
    except ValueError:
        if not re.fullmatch(r'[A-Za-z0-9._-]+', text):
            raise argparse.ArgumentTypeError(f'takes a name or an address without a port, got {text[:40]!r}') from None
    return text


def parser():
    p = Parser(
        prog='suf gateway', formatter_class=argparse.RawDescriptionHelpFormatter,
        description='Serve embeddings over HTTP, with the JSON of the OpenAI API, on the data owner\'s machine. Texts\n'
                    'leave this process as token ids inside the protocol alone.\n\n'
                    'Example:  suf gateway --connect model.example:7002 --dealer dealer.example:7001 \\\n'
                    '                      --certs certs/data --store store --listen 127.0.0.1:8080')
    need = p.add_argument_group('the other roles')
    need.add_argument('--connect', required=True, metavar='HOST:PORT,..', help='address of the model owner, or of its processes')
    need.add_argument('--dealer', required=True, metavar='HOST:PORT,..', help='address of the dealer; of several, pin the key of each')
    need.add_argument('--certs', required=True, metavar='DIR', help="this data owner's folder of certificates")
    need.add_argument('--store', required=True, metavar='DIR', help='folder of keys and ledgers, of this process alone')
    need.add_argument('--pin', action='append', default=[], metavar='ROLE=SHA256', help='accept only this key of a role; may be repeated')
    need.add_argument('--plan', metavar='FILE', help='the plan (default: pulled once from the model owner)')
    need.add_argument('--vocab', metavar='FILE', help='the tokenizer file (default: pulled with the plan)')
    need.add_argument('--expect', metavar='HASH', help='hash that a pulled plan must have')
    need.add_argument('--variant', default='auto', metavar='NAME', help='variant of the plan (default: auto, by the measured link)')
    need.add_argument('--parallel', type=number(int, 1, 64), default=2, metavar='K', help='texts that run side by side (default: 2)')
    need.add_argument('--memory', type=number(int, 1), metavar='MB', help="memory for them (default: three quarters of the machine's)")
    need.add_argument('--timeout', type=number(float, 0.001), default=60, metavar='S', help='seconds for a silent peer (default: 60)')
    need.add_argument('--retry', type=number(float, 0), default=20, metavar='S', help='seconds for which a broken peer is dialled again (default: 20)')
    http = p.add_argument_group('HTTP')
    http.add_argument('--listen', default='127.0.0.1:8080', metavar='HOST:PORT', help='address; port 0 takes a free one (default: 127.0.0.1:8080)')
    http.add_argument('--model', type=model_name, default='suf', metavar='NAME', help='name of the model for clients (default: suf)')
    http.add_argument('--host', type=host_name, action='append', default=[], metavar='NAME', help='another name by which clients call the gateway; may be repeated')
    http.add_argument('--token-file', metavar='FILE', help='file of the bearer token; made at the first start (default: STORE/gateway.token)')
    http.add_argument('--tls-cert', metavar='FILE', help='certificate chain in PEM; needed for other addresses than loopback')
    http.add_argument('--tls-key', metavar='FILE', help='its key')
    http.add_argument('--keep', type=number(float, 0), default=600, metavar='S', help='seconds for which results stay in memory; 0: none (default: 600)')
    http.add_argument('--keep-mb', type=number(float, 0), default=64, metavar='MB', help='most memory for them (default: 64)')
    http.add_argument('--queue', type=number(int, 1), default=8192, metavar='N', help='most texts that wait (default: 8192)')
    http.add_argument('--grace', type=number(float, 0, 86400), default=10, metavar='S', help='seconds for running texts after SIGTERM (default: 10)')
    return p


def read_token(path):
    """Returns the token of a file, which is made if needed."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        pass
    except OSError as x:
        raise ResourceError(f'cannot make the file of the token, {path}: {x.strerror}; name another place by --token-file') from None
    else:
        with open(fd, 'w') as file:
            file.write(secrets.token_urlsafe(32) + '\n')
        say(f'made a token for clients: {path}')
    try:
        with open(path, 'rb') as file:
            mode = os.fstat(file.fileno())
            token = file.read(1000).decode('latin-1').strip()
    except OSError as x:
        raise ResourceError(f'cannot read the file of the token, {path}: {x.strerror}; see to its rights') from None
    if mode.st_mode & 0o077 or not stat.S_ISREG(mode.st_mode):
        raise InputError(f'the file of the token, {path}, can be read by others (mode {stat.S_IMODE(mode.st_mode):o}); chmod 600 {path}')
    if len(token) < 32 or not token.isascii() or any(c.isspace() for c in token):
        raise InputError(f'the file of the token, {path}, holds {len(token)} characters, and a token has at least 32 without spaces; remove the file')
    return token


def address(text):
    """Returns (host, port)."""
    host, colon, port = text.rpartition(':')
    if not colon or not port.isdigit() or int(port) > 65535 or not host:
        raise InputError(f'--listen takes HOST:PORT, such as 127.0.0.1:8080; got {text[:100]!r}')
    return host.strip('[]'), int(port)


def listening(host, port):
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as x:
        raise ResourceError(f'cannot listen on {host}:{port}: {x.strerror}; name another address') from None


def is_loopback(sock):
    host = sock.getsockname()[0]
    return host == '::1' or host.startswith('127.')


class Server(uvicorn.Server):
    """Lets running texts end after SIGTERM, and refuses the others."""

    def __init__(self, config, texts):
        super().__init__(config)
        self.texts, self.loop, self.ended_by = texts, asyncio.get_running_loop(), 0

    def handle_exit(self, sig, frame):
        if self.should_exit:
            self.force_exit, self.ended_by = True, sig
            return
        say('ending behind the running texts; a second Ctrl-C or SIGTERM ends at once')
        self.loop.call_soon_threadsafe(self.texts.drain)
        self.should_exit = True


def limit_connections():
    """Leaves descriptors for the other files of this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = TimedProtocol.most + OTHER_FILES + BACKLOG
    if soft < wanted:
        soft = min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft < wanted:
        TimedProtocol.most = max(1, soft - OTHER_FILES - BACKLOG)
        say(f'takes {TimedProtocol.most} connections, because this process may open {soft} files; raise ulimit -n for more')


async def serve(args):
    host, port = address(args.listen)
    if bool(args.tls_cert) != bool(args.tls_key):
        raise InputError('--tls-cert and --tls-key belong together; give both')
    token = None
    sock = listening(host, port)
    if not is_loopback(sock) and not args.tls_cert:
        raise InputError(f'{host} is no loopback address, so others could read the texts; add --tls-cert and --tls-key, or listen on 127.0.0.1')
    encoder = await AsyncEncoder.open(args.connect, args.dealer, args.certs, args.store, plan=args.plan, vocab=args.vocab, expect=args.expect,
                                      pins=args.pin, variant=args.variant, parallel=args.parallel, memory=args.memory, timeout=args.timeout, retry=args.retry)
    jobs = {}  # in flight
    try:
        token = read_token(args.token_file or str(pathlib.Path(args.store) / 'gateway.token'))
        holder = []
        metrics = Metrics(lambda: holder[0])
        texts = Texts(encoder, args.keep, int(args.keep_mb * (1 << 20)), args.queue, metrics)
        holder.append(texts)
        jobs = texts.jobs
        hosts = {'localhost', '127.0.0.1', '::1', host.lower(), sock.getsockname()[0], *(h.lower() for h in args.host)} - {'0.0.0.0', '::'}
        gateway = Gateway(encoder, texts, metrics, args.model, token, hosts)
        config = uvicorn.Config(gateway, http=TimedProtocol, ws='none', lifespan='off', log_config=None, access_log=False, server_header=False,
                                backlog=BACKLOG, timeout_keep_alive=KEEP_ALIVE, h11_max_incomplete_event_size=MOST_HEADERS,
                                timeout_graceful_shutdown=max(1, int(args.grace)), ssl_certfile=args.tls_cert, ssl_keyfile=args.tls_key,
                                proxy_headers=False)
        try:
            config.load()
        except (OSError, ValueError) as x:
            raise InputError(f'cannot use --tls-cert {args.tls_cert} and --tls-key {args.tls_key}: {x}; give a certificate in PEM with its key') from None
        server = Server(config, texts)
        say(f'plan {encoder.plan}, model {args.model!r}; clients send the token in {args.token_file or pathlib.Path(args.store) / "gateway.token"}')
        say(f'listening on port {sock.getsockname()[1]}, pid {os.getpid()}')
        if args.tls_cert:  # uvicorn sets no time for a handshake
            loop = asyncio.get_running_loop()
            loop.create_server = functools.partial(loop.create_server, ssl_handshake_timeout=HEADERS)
        await server.serve(sockets=[sock])
        return 128 + server.ended_by if server.ended_by else 0
    finally:
        sock.close()
        await encoder.close(at_once=bool(jobs))  # idle sessions end well


def main(words):
    args = parser().parse_args(words)
    logging.basicConfig(format='suf: gateway: %(message)s', level=logging.ERROR)  # of the libraries
    _suf.harden()
    limit_connections()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return asyncio.run(serve(args))
    except KeyboardInterrupt:
        return 130
    except Error as x:
        print(f'suf: {x}', file=sys.stderr)
        return next((code for kind, code in CODES if isinstance(x, kind)), 5)
