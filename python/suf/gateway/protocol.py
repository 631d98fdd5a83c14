"""HTTP/1.1 with time limits. uvicorn has none for the bytes of a request. A client could hold a connection without end,
with a byte a second."""
import json

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS, BODY = 10.0, 60.0  # seconds for all headers of a request, and for its whole body
KEEP_ALIVE = 75  # seconds for which an idle connection stays


class TimedProtocol(H11Protocol):
    """Closes a connection whose headers or body take too long. The first headers count from the connection on."""

    def connection_made(self, transport):
        super().connection_made(transport)
        self._timer, self._phase = None, None
        self._limit('headers', HEADERS)

    def connection_lost(self, exc):
        self._limit(None, 0)
        super().connection_lost(exc)

    def data_received(self, data):
        super().data_received(data)
        state = self.conn.their_state
        if state is h11.IDLE:
            # bytes of the next request came, or the first one is not whole
            if self._phase is None:
                self._limit('headers', HEADERS)
        elif state is h11.SEND_BODY:
            if self._phase != 'body':
                self._limit('body', BODY)
        else:
            self._limit(None, 0)

    def on_response_complete(self):
        self._limit(None, 0)
        super().on_response_complete()

    def _limit(self, phase, seconds):
        if getattr(self, '_timer', None) is not None:
            self._timer.cancel()
            self._timer = None
        self._phase = phase
        if phase:
            self._timer = self.loop.call_later(seconds, self._late, phase, seconds)

    def _late(self, phase, seconds):
        self._timer = None
        if self.transport.is_closing():
            return
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE) and (self.cycle is None or not self.cycle.response_started):
            message = f'the {phase} of this request did not arrive within {seconds:.0f} s; send them faster'
            body = json.dumps({'error': {'message': message, 'type': 'invalid_request_error', 'param': None, 'code': 'request_timeout'}}).encode()
            self.transport.write(b'HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\nconnection: close\r\n'
                                 b'x-should-retry: false\r\ncontent-length: ' + str(len(body)).encode() + b'\r\n\r\n' + body)
        self.transport.close()
