"""Data owners with certificates of their own, for tests of a model owner that serves several."""
from roles import HeldRuns

SERVE = 'serve --plan {plan} --model {model} --certs {certs} --dealer 127.0.0.1:1 --listen 127.0.0.1:0 --store {w}/p0'.split()
EMBED = 'embed --plan {plan} --vocab {vocab} --certs {certs} --dealer 127.0.0.1:1 --connect 127.0.0.1:2 --store {w}/p1'.split()
# serve without a model, for faults that are reported before weights are loaded
SERVE_EARLY = [word if word != '{model}' else '{w}/none' for word in SERVE]


def owners(w, names=('alice', 'bob')):
    """Makes certificates of several data owners. Returns {name: the folder}."""
    w.base.suf('certs', w.dir / 'certs', *(word for name in names for word in ('--data', name)))
    return {name: w.dir / 'certs' / f'data-{name}' for name in names}


def starter(w, of):
    """Returns a function that starts the embed of an owner, by {name: the folder}."""
    return lambda name, *words, **flags: w.embed(*words, **{'certs': of[name], 'store': w.dir / f'data-{name}', **flags})


def texts(w, count):
    """Writes a file of texts. Returns its path and the results."""
    all = [w.base.text(3 + i % 6, i) for i in range(count)]
    path = w.dir / f'{count}.texts'
    path.write_text('\n'.join(all) + '\n')
    return path, w.base.simulate(all)


def held(w, start, name, **flags):
    """Runs one inference of an owner, then starts another one that stops inside its online part. Returns (process, a
    function that lets it go on)."""
    assert start(name).finish() == 0
    inside = HeldRuns(w.server.port())
    e = start(name, connect=inside.port, **flags)
    assert inside.arrived(e), e.err
    return e, inside.go


def results(w, e):
    return [w.result(r) for r in e.rows()]


def fingerprint(w, folder):
    return w.base.suf('certs', folder, '--show').split()[0]


def write_owners(w, rows):
    """Writes the owners' file, of {name: (folders, further lines)}."""
    text = ''
    for name, (folders, lines) in rows.items():
        keys = ', '.join(f'"{fingerprint(w, f)}"' for f in folders)
        text += f'[[owner]]\nname = "{name}"\nkeys = [{keys}]\n{lines}\n'
    (w.dir / 'owners.toml').write_text(text)
    return w.dir / 'owners.toml'


def begin_listed(w, rows, deal={}, **serve):
    """Starts dealer and model owner with a list. `rows` has further lines for an owner's name. Returns a function that
    starts the embed of an owner, listed or not."""
    of = owners(w, ('alice', 'bob', 'carol'))
    file = write_owners(w, {name: ([of[name]], lines) for name, lines in rows.items()})
    w.deal(certs=w.dir / 'certs', **deal).port()
    w.serve(certs=w.dir / 'certs', owners=file, **serve).port()
    return starter(w, of), of
