"""Reads files of metrics by prometheus-client, for tests. Run them with .venv/bin/python.

    found = metrics.read(file)
    found['suf_inferences_total'].value(owner='ann', outcome='done')
    found['suf_inference_seconds'].value('_count')
"""
import collections
import itertools
import math
import pathlib
import re

from prometheus_client import parser

COMMON = {'process', 'role'}  # labels of every series


class Family(collections.namedtuple('Family', 'type help samples')):
    """The series of one name: {(name with suffix, labels as pairs): value}, without the labels that all have."""

    def value(self, suffix='', **labels):
        """Returns the sum of the series that have at least these labels; 0 if there are none."""
        return sum(value for (name, own), value in self.samples.items() if name.endswith(suffix) and labels.items() <= dict(own).items()
                   and (suffix or not name.endswith(('_bucket', '_count', '_sum'))))

    def labels(self):
        """Returns the names of all labels."""
        return {name for _, own in self.samples for name, _ in own} - {'le'}


def read(file):
    """Returns {name: Family} of a file. Raises AssertionError or ValueError if Prometheus could misread it."""
    text = pathlib.Path(file).read_bytes().decode()
    assert text.endswith('\n'), f'{file} is cut'
    names = re.findall(r'^# TYPE (\S+)', text, re.M)
    assert names and len(set(names)) == len(names), f'{file} has a family twice, or none: {names}'
    assert names == re.findall(r'^# HELP (\S+) \S', text, re.M), f'{file} has a family without help'
    found, common = {}, set()
    for family in parser.text_string_to_metric_families(text):
        name = family.name + '_total' * (family.type == 'counter')
        assert name in names, f'{file} has the series {name} without a type'
        samples = {}
        for s in family.samples:
            assert COMMON <= s.labels.keys() and s.timestamp is None, s
            common.add(tuple(sorted((label, s.labels[label]) for label in COMMON)))
            key = s.name, tuple(sorted((label, value) for label, value in s.labels.items() if label not in COMMON))
            assert key not in samples, f'{file} has a series twice: {key}'
            assert math.isfinite(s.value) and s.value >= 0, s
            samples[key] = s.value
        found[name] = Family(family.type, family.documentation, samples)
        assert family.type in ('counter', 'gauge', 'histogram'), f'{name} is a {family.type}'
        if family.type == 'histogram':
            check_histogram(name, samples)
    assert list(found) == names, f'{file} has {names}, and {list(found)} were read'
    assert len(common) == 1, f'{file} is of several processes: {common}'
    return found


def check_histogram(name, samples):
    """Checks the buckets of a histogram against its count."""
    buckets = sorted((float(dict(labels)['le']), value) for (series, labels), value in samples.items() if series == f'{name}_bucket')
    counts = [value for _, value in buckets]
    assert buckets and math.isinf(buckets[-1][0]), f'{name} has no last bucket'
    assert all(a <= b for a, b in itertools.pairwise(counts)), f'{name} has the counts {counts}'
    assert counts[-1] == samples[f'{name}_count', ()] and (f'{name}_sum', ()) in samples, f'{name}: {samples}'
