#!/usr/bin/env python3
"""Runs sentence-transformers and Ray on the Python package, beside a real dealer and model owner, with the tiny model.

  compat_test.py SUF PACKAGES [PATTERN]     by .compat/bin/python (tools/clients.sh); `make compat` calls it
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from package_test import CASES, arguments, case, integers, main, settings, texts  # noqa: E402
import numpy as np  # noqa: E402
import suf  # noqa: E402
from roles import AMPLE  # noqa: E402

CASES.clear()
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / 'examples/ray_embed.py'


@case('tensors, semantic search and paraphrase mining')
def _(w):
    import torch
    from sentence_transformers import util
    w.both()
    all = [w.base.text(3 + i % 6, i) for i in range(12)]
    with suf.Encoder(**settings(w)) as m:
        values = m.encode(all, convert_to_tensor=True)
        assert isinstance(values, torch.Tensor) and values.shape == (12, m.get_sentence_embedding_dimension())
        assert integers(m.last) == w.base.simulate(all)
        alike = m.similarity(values, values)
        assert isinstance(alike, torch.Tensor) and torch.allclose(alike, util.cos_sim(values, values), atol=1e-6)
        for i, hits in enumerate(util.semantic_search(values, values, top_k=3)):
            assert hits[0]['corpus_id'] == i and [h['corpus_id'] for h in hits] == alike[i].topk(3).indices.tolist()
        pairs = util.paraphrase_mining(m, all)
        assert len(pairs) == 66 and max(abs(alike[i, j] - score) for score, i, j in pairs) < 1e-5
        assert [p[0] for p in pairs] == sorted((p[0] for p in pairs), reverse=True)


@case('InformationRetrievalEvaluator')
def _(w):
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
    w.both()
    all = [w.base.text(8, i) for i in range(10)]
    corpus = {f'd{i}': t for i, t in enumerate(all)}
    queries = {f'q{i}': all[i] for i in (2, 5, 7)}
    evaluator = InformationRetrievalEvaluator(queries, corpus, {f'q{i}': {f'd{i}'} for i in (2, 5, 7)}, name='own')
    with suf.Encoder(**settings(w)) as m:
        found = evaluator(m)
        assert found['own_cosine_accuracy@1'] == 1 and found['own_cosine_mrr@10'] == 1, found
        assert m.model_card_data.metrics == found


def workers():
    """Returns the pids of Ray's actors."""
    found = []
    for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
        try:
            if path.read_bytes().startswith(b'ray::Embedder'):
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


@case('Ray: an actor is killed in the middle, and each text has one line')
def _(w):
    w.both()
    all = texts(w, 64)
    (w.dir / 'texts').write_text('\n'.join(all) + '\n')
    given = {k: v for k, v in arguments(w, name='actors').items()}
    words = [x for name, value in given.items() for x in (f'--{name}', value)]
    with subprocess.Popen([sys.executable, EXAMPLE, *words, '--file', w.dir / 'texts', '--out', w.dir / 'out'],
                          env={**os.environ, 'PYTHONPATH': sys.argv[2]}) as p:
        end = time.monotonic() + 4 * AMPLE
        while sum(': serial ' in line for line in w.server.err) < 12:
            assert time.monotonic() < end and p.poll() is None
            time.sleep(0.01)
        before = set(workers())
        assert len(before) == 2, before
        os.kill(min(before), signal.SIGKILL)
        assert p.wait(8 * AMPLE) == 0
    lines = sorted((json.loads(line) for line in (w.dir / 'out').read_text().splitlines()), key=lambda line: line['i'])
    assert [line['i'] for line in lines] == list(range(64)), 'each text has one line'
    assert len({line['serial'] for line in lines}) == 64, 'each under a serial of its own'
    with suf.Encoder(**settings(w)) as m:
        assert (np.array([line['embedding'] for line in lines], np.float32) == m.encode(all)).all()
        assert integers(m.last) == w.base.simulate(all)


if __name__ == '__main__':
    main()
