"""CrossEncoder and Classifier: scores and labels."""
import numpy as np

from suf._core import Owner, as_list, to_bytes
from suf._errors import InputError


class CrossEncoder(Owner):
    """Scores pairs of texts, as the CrossEncoder of sentence-transformers does with a local model."""

    ENDING: str | None = 'scores'

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        if self._about['texts'] == 'single':
            self._shut()
            raise InputError('the plan takes single texts, and CrossEncoder gives it pairs; use Classifier')

    def predict(self, pairs, batch_size=1, show_progress_bar=False):
        """Returns the scores of pairs (first, second): (n,) float32 if the model has one score, else (n, k)."""
        one = isinstance(pairs, (tuple, list)) and len(pairs) == 2 and all(isinstance(t, str) for t in pairs)
        rows = []
        for i, pair in enumerate([pairs] if one else as_list(pairs, 'pairs')):
            if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                raise InputError(f'pair {i + 1} is no pair of texts; give (first, second)')
            rows.append(tuple(to_bytes(t, f'a text of pair {i + 1}') for t in pair))
        values = [v for v, _ in self._run(self._ids(rows), batch_size, None, show_progress_bar)]
        scores = np.stack(values) if values else np.zeros((0, self._about['dimension']), np.float32)
        scores = scores[:, 0] if self._about['dimension'] == 1 else scores
        return scores[0] if one else scores

    def rank(self, query, documents, top_k=None, return_documents=False, batch_size=1, show_progress_bar=False):
        """Returns [{"corpus_id", "score"}] of documents for a query, the best first; at most top_k."""
        if self._about['dimension'] != 1:
            raise InputError(f"the model gives {self._about['dimension']} scores a pair, and rank() needs one; use predict()")
        documents = as_list(documents, 'documents')
        scores = self.predict([(query, d) for d in documents], batch_size, show_progress_bar)
        order = np.argsort(-scores, kind='stable')[:top_k]
        return [{'corpus_id': int(i), 'score': float(scores[i]), **({'text': documents[i]} if return_documents else {})} for i in order]


class Classifier(Owner):
    """Gives texts labels with scores."""

    ENDING: str | None = 'scores'

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        if self._about['texts'] == 'pair':
            self._shut()
            raise InputError('the plan takes pairs of texts, and Classifier gives it single ones; use CrossEncoder')

    @property
    def labels(self):
        """The names of the scores; numbers if the model has no names."""
        return list(self._about['labels']) or [str(i) for i in range(self._about['dimension'])]

    def predict(self, texts, batch_size=1, show_progress_bar=False):
        """Returns for each text {"label", "score", "scores"}: the label of the highest score, and all scores by label.
        Scores are logits, float. One str gives one dict."""
        one = isinstance(texts, str)
        rows = [(to_bytes(t, f'text {i + 1}'), None) for i, t in enumerate([texts] if one else as_list(texts))]
        out = []
        for values, _ in self._run(self._ids(rows), batch_size, None, show_progress_bar):
            best = int(np.argmax(values))
            out.append({'label': self.labels[best], 'score': float(values[best]), 'scores': dict(zip(self.labels, map(float, values)))})
        return out[0] if one else out
