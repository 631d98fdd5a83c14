"""HTTP/1.1 with time limits. uvicorn has none for the bytes of a request. A client could hold a connection without end,
with a byte a second."""
import json

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS, BODY = 10.0, 60.0  # seconds for all headers of a request, and for its whole body
KEEP_ALIVE = 75  # seconds for which an idle connection stays
BUSY = 5  # seconds after which a client may connect again, if there are too many connections


def plain_answer(status, message, code, headers):
    """Returns the bytes of an error, for a connection that has no request."""
    body = json.dumps({'error': {'message': message, 'type': 'invalid_request_error', 'param': None, 'code': code}}).encode()
    return f'HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n{headers}content-length: {len(body)}\r\n\r\n'.encode() + body


class TimedProtocol(H11Protocol):
    """Closes a connection whose headers or body take too long. The first headers count from the connection on. Ends
    connections beyond `most`."""

    most, open = 512, 0  # of all connections

    def connection_made(self, transport):
        super().connection_made(transport)
        self._timer, self._phase = None, None
        TimedProtocol.open += 1
        if TimedProtocol.open > TimedProtocol.most:
            message = f'this gateway has {TimedProtocol.most} connections, which is its limit; try again later'
            transport.write(plain_answer('503 Service Unavailable', message, 'connections', f'retry-after: {BUSY}\r\n'))
            transport.close()
        else:
            self._limit('headers', HEADERS)

    def connection_lost(self, exc):
        TimedProtocol.open -= 1
        self._limit(None, 0)
        super().connection_lost(exc)

    def data_received(self, data):
        if self.transport.is_closing():
            return
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
            self.transport.write(plain_answer('408 Request Timeout', message, 'request_timeout', 'x-should-retry: false\r\n'))
        self.transport.close()
