"""Encoder: embeddings, with the names and meanings of sentence-transformers 6."""
import numpy as np

from suf._core import LastCall, PromptedOwner, as_list, check_choice, to_bytes, whole
from suf._errors import InputError

__all__ = ['Encoder', 'LastCall']


def _cosine(a, b):
    norms = np.linalg.norm(a, axis=1, keepdims=True), np.linalg.norm(b, axis=1, keepdims=True)
    return (a / np.maximum(norms[0], 1e-12)) @ (b / np.maximum(norms[1], 1e-12)).T


SIMILARITIES = {
    'cosine': _cosine,
    'dot': lambda a, b: a @ b.T,
    'euclidean': lambda a, b: -np.sqrt(np.maximum(((a[:, None, :] - b[None, :, :]) ** 2).sum(-1), 0)),
    'manhattan': lambda a, b: -np.abs(a[:, None, :] - b[None, :, :]).sum(-1),
}


class ModelCard:
    """Where an evaluator of sentence-transformers puts its metrics."""

    def __init__(self):
        self.metrics = {}

    def set_evaluation_metrics(self, evaluator, metrics, epoch=0, step=0):
        self.metrics.update(metrics)


class EncoderMethods(PromptedOwner):
    """The common part of Encoder and AsyncEncoder: everything but the running."""

    ENDING: str | None = 'embedding'

    @property
    def model_card_data(self):
        """Has `metrics` of the evaluators of sentence-transformers that ran on this object."""
        self._card = getattr(self, '_card', None) or ModelCard()
        return self._card

    @property
    def similarity_fn_name(self):
        """How embeddings are compared: cosine, dot, euclidean or manhattan."""
        return self._about['similarity'] or 'cosine'

    @property
    def max_seq_length(self):
        """The most tokens of a text, special tokens included. Longer texts are cut."""
        return self._cut if getattr(self, '_cut', None) else self._limit()

    @max_seq_length.setter
    def max_seq_length(self, tokens):
        self._cut = whole('max_seq_length', tokens, self._about['min_tokens'], self._about['max_tokens'])

    def get_sentence_embedding_dimension(self):
        return self._about['dimension']

    def similarity(self, a, b):
        """Compares (n, d) with (m, d) embeddings, or single ones (d,). Returns (n, m) float32; larger is more alike. Of
        tensors the result is a tensor."""
        if a is None or b is None:
            raise InputError('similarity() needs two arrays of embeddings; got None')
        tensors = any(type(x).__module__ == 'torch' for x in (a, b))
        a, b = (np.atleast_2d(np.asarray(x, np.float32)) for x in (a, b))
        found = SIMILARITIES[self.similarity_fn_name](a, b).astype(np.float32)
        if not tensors:
            return found
        import torch  # type: ignore[import-not-found]
        return torch.from_numpy(found)

    def tokenize(self, texts, **kwargs):
        """Returns {"input_ids", "attention_mask"} of texts, each (n, longest) int64, padded with zeros."""
        rows = [texts] if isinstance(texts, str) else as_list(texts)
        ids = self._ids([(to_bytes(t, f'text {i + 1}'), None) for i, t in enumerate(rows)], limit=self.max_seq_length)
        width = max(map(len, ids), default=0)
        all = np.zeros((len(ids), width), np.int64)
        mask = np.zeros_like(all)
        for row, m, one in zip(all, mask, ids):
            row[:len(one)], m[:len(one)] = one, 1
        return {'input_ids': all, 'attention_mask': mask}

    def _named(self, *names):
        """The first of these prompts that the plan has; else the default."""
        return next((n for n in names if n in self._about['prompts']), None)

    def encode_query(self, inputs, prompt_name=None, **options):
        """encode with the prompt "query", if the plan has one."""
        return self._encode_with(('query',), inputs, prompt_name, options)

    def encode_document(self, inputs, prompt_name=None, **options):
        """encode with the prompt "document", "passage" or "corpus", if the plan has one."""
        return self._encode_with(('document', 'passage', 'corpus'), inputs, prompt_name, options)

    def _encode_with(self, names, inputs, prompt_name, options):
        """Returns what encode returns: of AsyncEncoder, a coroutine."""
        return self.encode(inputs, prompt_name=prompt_name or (None if options.get('prompt') else self._named(*names)), **options)

    def _prepare(self, inputs, prompt_name, prompt, precision, output_value, convert_to_numpy, convert_to_tensor, device, truncate_dim,
                 pool, chunk_size, others):
        """Checks the arguments of encode before anything is sent. Returns (ids, whether one text was given)."""
        if others:
            raise TypeError(f'encode() has no argument {sorted(others)[0]!r}')
        check_choice('precision', precision, ('float32', None))
        check_choice('output_value', output_value, ('sentence_embedding',))
        check_choice('device', device, (None,))
        check_choice('pool', pool, (None,))
        check_choice('chunk_size', chunk_size, (None,))
        if truncate_dim is not None:
            whole('truncate_dim', truncate_dim, 1, self.get_sentence_embedding_dimension())
        if convert_to_tensor:
            try:
                import torch  # type: ignore[import-not-found]  # noqa: F401
            except ImportError:
                raise ValueError('convert_to_tensor=True needs torch, which is not installed; install it, or leave out the option') from None
        return self._texts(inputs, prompt_name, prompt, self.max_seq_length)

    def _convert(self, results, one, normalize_embeddings, truncate_dim, convert_to_numpy, convert_to_tensor):
        values = np.stack([v for v, _ in results]) if results else np.zeros((0, self.get_sentence_embedding_dimension()), np.float32)
        if truncate_dim is not None:
            values = values[:, :truncate_dim]
        if normalize_embeddings:
            values = values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12)
        values = np.ascontiguousarray(values, np.float32)
        if convert_to_tensor:
            import torch
            made = torch.from_numpy(values)
            return made[0] if one else made
        if not convert_to_numpy:
            return values[0] if one else list(values)
        return values[0] if one else values


class Encoder(EncoderMethods):
    """Embeds texts with a model that this process never sees, as sentence-transformers does with a local one."""

    def encode(self, inputs, prompt_name=None, prompt=None, batch_size=1, show_progress_bar=False, output_value='sentence_embedding',
               precision='float32', convert_to_numpy=True, convert_to_tensor=False, device=None, normalize_embeddings=False,
               truncate_dim=None, pool=None, chunk_size=None, resume=None, **others):
        """Returns the embeddings of texts, (n, d) float32; of one str, (d,).

        * prompt_name, prompt: a prompt of the plan, or a text. It stands before each text.
        * batch_size: the most texts of one length that share a trace. The model owner and the dealer see the number.
        * normalize_embeddings: divides each embedding by its norm.
        * truncate_dim: keeps the first numbers alone.
        * resume: a file that keeps the results. A call with the same texts goes on there.

        A batch has the flights of one text (`last.flights`). Raises ValueError for an option that is not provided,
        and the errors of suf. If some texts failed, the error has `results` and `failed`."""
        ids, one = self._prepare(inputs, prompt_name, prompt, precision, output_value, convert_to_numpy, convert_to_tensor, device,
                                 truncate_dim, pool, chunk_size, others)
        results = self._run(ids, batch_size, resume, bool(show_progress_bar))
        return self._convert(results, one, normalize_embeddings, truncate_dim, convert_to_numpy, convert_to_tensor)
