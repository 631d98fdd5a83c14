"""Two dealers and two processes of one model owner, for tests of sessions that are spread over them."""
import re
import time

from customers import fingerprint
from roles import AMPLE

DEALERS = ('north', 'south')


class Spread:
    """Certificates with two dealers, shared secrets, and the processes of a World `w`. The model owner pins what
    `pinned` makes of the dealers' fingerprints."""

    def __init__(self, w, pinned=lambda pins: pins):
        self.w, self.certs = w, w.dir / 'certs'
        w.base.suf('certs', self.certs, *(word for name in DEALERS for word in ('--dealer', name)))
        w.base.suf('secrets', w.dir / 'secrets', '--certs', self.certs)
        self.pins = [fingerprint(w, self.certs / f'dealer-{name}') for name in DEALERS]
        self.ports, self.dealers, self.servers, self.listens = {}, {}, {}, {}
        for name in DEALERS:
            self.deal(name)
        for i in range(2):
            self.serve(i, pin=pinned(self.pins))

    def deal(self, name):
        """Starts a dealer, at the port where it was before."""
        self.dealers[name] = self.w.deal(certs=self.certs / f'dealer-{name}', state=self.w.dir / f'state-{name}',
                                         listen=f'127.0.0.1:{self.ports.get(name, 0)}')
        self.ports[name] = self.dealers[name].port()

    def serve(self, i, **flags):
        """Starts a process of the model owner, at the port where it was before."""
        self.servers[i] = self.w.serve(**{'certs': self.certs, 'dealer': self.listed(), 'pin': self.pins, 'secrets': self.w.dir / 'secrets',
                                          'store': self.w.dir / f'model{i}', 'listen': f'127.0.0.1:{self.listens.get(i, 0)}',
                                          'at-once': 16, **flags})  # texts that wait for a lost dealer have turns
        self.listens[i] = self.servers[i].port()

    def listed(self, names=DEALERS):
        """Returns the ports of dealers as World expects them, with the first address cut off."""
        return ',127.0.0.1:'.join(str(self.ports[name]) for name in names)

    def embed(self, text='the dog', **flags):
        return self.w.embed(text, **{'certs': self.certs, 'dealer': self.listed(), 'pin': self.pins, 'parallel': 8,
                                     'connect': ',127.0.0.1:'.join(str(port) for port in self.listens.values()), **flags})

    def jobs(self, roles, total):
        """Returns how many jobs each of these roles has logged, once they are `total`. A log comes behind its job."""
        end = time.monotonic() + AMPLE
        while True:
            each = [sum(bool(re.search(r': serial \d+,', line)) for line in role.err) for role in roles]
            if sum(each) == total or time.monotonic() > end:
                assert sum(each) == total, f'{each} jobs instead of {total}'
                return each
            time.sleep(0.01)


def outcomes(w, e, expected):
    """Asserts that each text has its result or an error. Returns {line: error}."""
    rows = e.rows()
    assert [r['i'] for r in rows] == list(range(len(expected))), 'each text has one row, in order'
    failed = {r['i']: r['error'] for r in rows if 'error' in r}
    for r in rows:
        assert r['i'] in failed or w.result(r) == expected[r['i']], f'text {r["i"]} differs from the simulator'
    return failed
