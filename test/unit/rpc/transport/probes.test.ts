import { expect, it } from 'vitest'
import {
  answerProbe,
  answerStartingProbe,
  type Health,
  PROBE_PATHS,
  type ProbePath,
} from '../../../../src/rpc/transport/probes.ts'

const STALE_MS = 15_000
const IN_STEP: Health = { height: 90, ageMs: 200, catchingUp: false, peers: 3, lag: 0 }

function ask(path: ProbePath, query: string, health: Partial<Health>, silentMs = 0): number {
  const source = {
    health: () => ({ ...IN_STEP, ...health }),
    silence: () => ({ thread: 'executor', silentMs }),
  }
  return answerProbe(path, new URLSearchParams(query), source, STALE_MS).status
}

const HALTED = { ageMs: 3_600_000 }
const BEHIND = { ageMs: 4_000, catchingUp: true, lag: 10 }
const CUT_OFF = { ageMs: 4_000, peers: 0 }
const WITHOUT_PEERS = { ageMs: 16_000, peers: 0 }

it.each<[what: string, path: ProbePath, query: string, health: Partial<Health>, silentMs: number, status: number]>([
  ['a node in step is ready', '/readyz', '', {}, 0, 200],
  ['a network that has halted leaves its nodes ready', '/readyz', '', HALTED, 0, 200],
  ['and alive', '/livez', '', HALTED, 0, 200],
  ['but not healthy', '/health', '', HALTED, 0, 503],
  ['a node that catches up is not ready', '/readyz', '', BEHIND, 0, 503],
  ['even when it does not know yet how far it is behind', '/readyz', '', { catchingUp: true }, 0, 503],
  ['or is further behind than it may be', '/readyz', 'max_lag=9', BEHIND, 0, 503],
  ['it is ready as far behind as it may be', '/readyz', 'max_lag=10', BEHIND, 0, 200],
  ['it is alive', '/livez', '', BEHIND, 0, 200],
  ['a node that hears of no blocks is not ready', '/readyz', '', WITHOUT_PEERS, 0, 503],
  ['however far behind it may be', '/readyz', 'max_lag=100', WITHOUT_PEERS, 0, 503],
  ['a node that is cut off is not ready for who wants young blocks', '/readyz', 'max_lag=2&max_age=3', CUT_OFF, 0, 503],
  ['and is for others, for a while', '/readyz', 'max_lag=2', CUT_OFF, 0, 200],
  ['young blocks are ready', '/readyz', 'max_lag=2&max_age=3', { ageMs: 3_000 }, 0, 200],
  ['a validator alone is ready', '/readyz', '', { peers: 0 }, 0, 200],
  ['a thread may be busy for a while', '/livez', '', {}, 59_999, 200],
  ['but not for a minute', '/livez', '', {}, 60_000, 503],
  ['whoever serves has started', '/startupz', '', HALTED, 60_000, 200],
  ['max_lag is a number', '/readyz', 'max_lag=ten', {}, 0, 400],
  ['and not negative', '/readyz', 'max_lag=-1', {}, 0, 400],
  ['max_age is a number', '/readyz', 'max_age=1.5', {}, 0, 400],
])('%s', (_, path, query, health, silentMs, status) => {
  expect(ask(path, query, health, silentMs)).toBe(status)
})

it('a node that starts is alive and serves nobody', () => {
  expect(PROBE_PATHS.map((path) => [path, answerStartingProbe(path).status])).toEqual([
    ['/health', 503],
    ['/startupz', 503],
    ['/livez', 200],
    ['/readyz', 503],
  ])
})
