/*
 * What tells whoever watches a node, or balances load over several, how it is. Each is answered at once from what the socket thread knows.
 *
 * /health    200 while the newest block is young: the chain goes on, and this node with it
 * /startupz  200 once the node serves
 * /livez     503 when a thread without which nothing goes on has been silent for long: only starting the process again helps.
 *            A network that has halted, a node that catches up and a start that takes hours are no reason for that
 * /readyz    200 while the node may get requests: it is at most `max_lag` blocks behind (0 without it), and hears of new ones. With
 *            `max_age` its newest block is also at most so many seconds old: a node that is cut off does not know how far it is behind
 */

/** The paths. They are never refused: who balances load by them must not take a limit of one client for a fault of the node. */
export const PROBE_PATHS = ['/health', '/startupz', '/livez', '/readyz'] as const
export type ProbePath = (typeof PROBE_PATHS)[number]

/** What this thread knows about the node. */
export interface ProbeSource {
  readonly health: () => Health
  /** the thread that has owed an answer for longest, and for how long; 0 ms: none does */
  readonly silence: () => Silence
}

export interface Health {
  /** of the newest block */
  readonly height: number
  /** milliseconds since its time */
  readonly ageMs: number
  readonly catchingUp: boolean
  readonly peers: number
  /** blocks that the network has and this node has not, as far as it knows */
  readonly lag: number
}

export interface Silence {
  readonly thread: string
  readonly silentMs: number
}

export interface ProbeAnswer {
  readonly status: 200 | 400 | 503
  /** JSON */
  readonly text: string
}

/**
 * A thread that has not answered for so long hangs: blocks take seconds at most, and what takes longer (a migration, a restore) is done before
 * there are probes to answer, or in pieces.
 */
const SILENT_MS = 60_000

/** @param staleMs a newest block that is older is not young */
export function answerProbe(
  path: ProbePath,
  query: URLSearchParams,
  source: ProbeSource,
  staleMs: number,
): ProbeAnswer {
  switch (path) {
    case '/health': {
      const { lag: _, ...health } = source.health()
      const healthy = health.ageMs <= staleMs
      return answer(healthy, { healthy, ...health })
    }
    case '/startupz':
      return answer(true, { started: true })
    case '/livez': {
      const { thread, silentMs } = source.silence()
      const live = silentMs < SILENT_MS
      return answer(live, live ? { live } : { live, thread, silentMs })
    }
    case '/readyz': {
      const maxLag = readNumber(query, 'max_lag', 0)
      if (maxLag === undefined) return wrong('max_lag is a number of blocks, 0 or more')
      const maxAgeSeconds = readNumber(query, 'max_age', Number.POSITIVE_INFINITY)
      if (maxAgeSeconds === undefined) return wrong('max_age is a number of seconds, 0 or more')
      const { height, ageMs, lag, catchingUp, peers } = source.health()
      // Without peers no block of others arrives, so nobody knows how many this node lacks. A validator alone makes its own.
      const hears = peers > 0 || ageMs <= staleMs
      const isYoung = ageMs <= maxAgeSeconds * 1000
      const ready = hears && isYoung && lag <= maxLag && (maxLag > 0 || !catchingUp)
      return answer(ready, { ready, height, lag, ageMs, catchingUp, peers })
    }
  }
}

function answer(isGood: boolean, fields: Readonly<Record<string, string | number | boolean>>): ProbeAnswer {
  return { status: isGood ? 200 : 503, text: JSON.stringify(fields) }
}

function wrong(error: string): ProbeAnswer {
  return { status: 400, text: JSON.stringify({ error }) }
}

/** A number of the query, `fallback` without one; undefined: it is not a whole number of at most nine digits. */
function readNumber(query: URLSearchParams, name: string, fallback: number): number | undefined {
  const text = query.get(name)
  if (text === null) return fallback
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

/** The same while the node starts, before anything is known about its chain: it lives, and serves nobody. */
export function answerStartingProbe(path: ProbePath): ProbeAnswer {
  switch (path) {
    case '/health':
      return answer(false, { healthy: false, catchingUp: true, starting: true })
    case '/startupz':
      return answer(false, { started: false })
    case '/livez':
      return answer(true, { live: true, starting: true })
    case '/readyz':
      return answer(false, { ready: false, starting: true })
  }
}

/** Which probe a path is; undefined: none. */
export function probeOf(path: string): ProbePath | undefined {
  return PROBE_PATHS.find((probe) => probe === path)
}
