/*
 * Probes for supervisors and load balancers. The socket thread answers each at once from its own
 * knowledge of the node.
 *
 * /health    200 while the newest block is young: the chain makes progress, and so does this node
 * /startupz  200 once the node serves
 * /livez     503 when a thread that the node cannot work without has been silent for long: only a
 *            restart of the process helps. A network that has halted, a node that catches up and
 *            a start that takes hours do not cause it
 * /readyz    200 while the node may get requests: it is at most `max_lag` blocks behind (by default
 *            0), and learns of new blocks. With `max_age` its newest block is also at most this
 *            many seconds old: a node that is cut off does not know how far behind it is
 */

/**
 * The paths. They are never refused: a load balancer must not take a client's limit for a fault of
 * the node.
 */
export const PROBE_PATHS = ['/health', '/startupz', '/livez', '/readyz'] as const
export type ProbePath = (typeof PROBE_PATHS)[number]

/** The node's condition, as far as this thread knows it. */
export interface ProbeSource {
  readonly health: () => Health
  /**
   * Returns the thread that has owed an answer for longest, and for how long; 0 ms: no thread owes
   * one.
   */
  readonly silence: () => Silence
}

export interface Health {
  /** of the newest block */
  readonly height: number
  /** milliseconds since its time */
  readonly ageMs: number
  readonly catchingUp: boolean
  readonly peers: number
  /** blocks that the network has and this node does not have, as far as it knows */
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
 * A thread that has not answered for this long hangs: blocks take seconds at most, and longer work
 * (a migration, a restore) is done before the node answers probes, or in pieces.
 */
const SILENT_MS = 60_000

/** Answers a probe. @param staleMs the age from which on the newest block is too old for /health */
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
      // Without peers no blocks of others arrive, so the lag is unknown. A single validator makes
      // its own blocks.
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

/**
 * Reads a number from the query; `fallback` when it is missing; undefined when it is not a whole
 * number of at most nine digits.
 */
function readNumber(query: URLSearchParams, name: string, fallback: number): number | undefined {
  const text = query.get(name)
  if (text === null) return fallback
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

/**
 * Answers a probe while the node starts, before anything is known about its chain: it is alive, but
 * not ready.
 */
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

/** Returns the probe of a path; undefined: it is not a probe. */
export function probeOf(path: string): ProbePath | undefined {
  return PROBE_PATHS.find((probe) => probe === path)
}
