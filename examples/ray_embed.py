#!/usr/bin/env python3
"""Embeds a file of texts, one a line, with several Ray actors. Each actor is a data owner with a store and lanes of its
own. Ray starts a killed actor again. It opens its store, where the claimed keys are burnt, and its texts run again under
new serials. Each text gives one line of JSON, once.

    ray_embed.py --connect H:P --dealer H:P --certs D --store DIR --file texts.txt --out vectors.jsonl [--actors 2]

Keep Ray inside the data owner, behind a firewall. It listens on all addresses of the machine, and its ports run the
code of any caller with its token. Its object store has the texts.
"""
import argparse
import json
import os
import pathlib

os.environ.setdefault('RAY_USAGE_STATS_ENABLED', '0')  # Ray would report to its makers
import ray  # noqa: E402
import suf  # noqa: E402

PIECE = 8  # texts of a task; an actor that dies repeats at most these


@ray.remote(max_restarts=-1, max_task_retries=-1)
class Embedder:
    def __init__(self, settings):
        self.encoder = suf.Encoder(**settings)

    def embed(self, texts):
        """Returns the line of each text, without its number."""
        try:
            vectors = self.encoder.encode(texts)
        except suf.Error as x:
            if x.results is None and len(texts) > 1:  # one of them is no text that can run; none has
                return [line for text in texts for line in self.embed([text])]
            vectors, failed = x.results or [None], x.failed or {0: x}
        serials = iter(self.encoder.last.serials if self.encoder.last else ())
        return [{'error': str(failed[i])} if v is None else {'embedding': v.tolist(), 'serial': next(serials)} for i, v in enumerate(vectors)]


def pieces(texts):
    return [(at, texts[at:at + PIECE]) for at in range(0, len(texts), PIECE)]


def embed(actors, texts):
    """Yields (number, line) of each text, piece by piece. Each actor has two pieces, one of which waits."""
    left, running = pieces(texts)[::-1], {}
    idle = 2 * actors
    while left or running:
        while left and idle:
            actor, (at, some) = idle.pop(), left.pop()
            running[actor.embed.remote(some)] = actor, at
        (done,), _ = ray.wait(list(running))
        actor, at = running.pop(done)
        idle.append(actor)
        yield from enumerate(ray.get(done), at)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ('connect', 'dealer', 'certs', 'store', 'file', 'out'):
        p.add_argument(f'--{name}', required=True)
    for name in ('plan', 'vocab', 'expect'):
        p.add_argument(f'--{name}')
    p.add_argument('--actors', type=int, default=2)
    a = p.parse_args()
    os.makedirs(a.store, 0o700, exist_ok=True)
    texts = pathlib.Path(a.file).read_text().splitlines()
    settings = {name: getattr(a, name) for name in ('connect', 'dealer', 'plan', 'vocab', 'expect')} | {'certs': os.path.abspath(a.certs)}
    ray.init(num_cpus=4, include_dashboard=False)
    actors = [Embedder.remote({**settings, 'store': os.path.join(os.path.abspath(a.store), f'actor{i}')}) for i in range(a.actors)]
    with open(a.out, 'w') as out:
        for i, line in embed(actors, texts):
            print(json.dumps({'i': i, **line}), file=out, flush=True)


if __name__ == '__main__':
    main()
