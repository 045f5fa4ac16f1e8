import { createRandom, type Random } from '../fuzz/random.ts'
import type { Byzantine } from './byzantine/byzantine.ts'
import { randomByzantine } from './byzantine/mixed.ts'
import { calm, type FaultPlan, scheduleFaults } from './faults.ts'
import type { Violation } from './monitor.ts'
import { Simulation, type SimulationOptions } from './simulation.ts'
import { validatorScript } from './validatorScript.ts'

/**
 * - `safety`: faults until the end
 * - `liveness`: faults, then none, and blocks have to be decided
 */
export type Mode = 'safety' | 'liveness'

interface RandomRunOptions {
  readonly seed: number
  readonly validators: number
  readonly mode: Mode
  /** replaces what the seed would choose */
  readonly overrides?: Partial<SimulationOptions>
  readonly trace?: (line: string) => void
}

export interface RunReport {
  readonly seed: number
  readonly validators: number
  readonly mode: Mode
  readonly violations: readonly Violation[]
  readonly height: number
  readonly maxRound: number
  readonly events: number
  readonly virtualMs: number
}

/** After the faults: how many heights honest nodes must decide, and how long they may take. */
const LIVENESS_HEIGHTS = 3
const LIVENESS_LIMIT_MS = 120_000

function choosePlan(random: Random): FaultPlan {
  const quiet = random.oneIn(10)
  return {
    crashes: !quiet && random.oneIn(2),
    partitions: !quiet && random.oneIn(2),
    badLinks: !quiet && !random.oneIn(3),
    badDisks: !quiet && random.oneIn(3),
    diskFailures: !quiet && random.oneIn(6),
    clocks: !quiet && random.oneIn(4),
    everyMs: random.between(150, 2500),
  }
}

/** Byzantine validators with less than a third of the power. */
function chooseByzantine(random: Random, powers: readonly number[]): Map<number, Byzantine> {
  const chosen = new Map<number, Byzantine>()
  if (random.oneIn(3)) return chosen
  const total = powers.reduce((sum, power) => sum + power, 0)
  let bad = 0
  for (let attempt = 0; attempt < powers.length; attempt++) {
    const index = random.below(powers.length)
    if (chosen.has(index) || (bad + powers[index]!) * 3 >= total) continue
    bad += powers[index]!
    chosen.set(index, randomByzantine(random))
    if (random.oneIn(3)) break
  }
  return chosen
}

function chooseTxs(random: Random): SimulationOptions['makeTxs'] {
  // Blocks of several parts now and then.
  if (!random.oneIn(8)) return undefined
  return (_height, node) => [new Uint8Array(node.below(150_000)).fill(node.between(1, 250))]
}

/** A run whose everything follows from its seed. */
export function randomRun({ seed, validators, mode, overrides, trace }: RandomRunOptions): RunReport {
  const random = createRandom(seed, 4)
  const powers = Array.from({ length: validators }, () => (random.oneIn(3) ? random.between(1, 30) : 10))
  if (random.oneIn(3)) powers[validators - 1] = 0
  const byzantine = chooseByzantine(random, powers)
  const churns = random.oneIn(3)
  const rotates = churns && seed % 2 === 0
  const simulation = new Simulation({
    seed,
    validators,
    fullNodes: random.oneIn(4) ? 1 : 0,
    powers,
    byzantine,
    realKeys: seed % 100 === 0,
    followsSync: seed % 3 === 0,
    segmentBytes: random.pick([4 << 10, 16 << 10, 1 << 20]),
    durableEvery: random.between(1, 8),
    ...(churns
      ? {
          updatesAt: validatorScript({
            seed,
            powers,
            byzantine: new Set(byzantine.keys()),
            oneIn: random.between(1, 4),
            ...(rotates && { rotatesOneIn: 3 }),
          }),
          rotates,
        }
      : {}),
    ...withoutUndefined({ makeTxs: chooseTxs(random), trace }),
    expectsHalt: (_node, error) => /ENOSPC|EIO|EROFS/.test(error.message),
    ...overrides,
  })
  const plan = choosePlan(random)
  const spreadMs = random.pick([1, 20, 150])
  simulation.network.setLinks({ jitterMs: 5 })
  simulation.network.eachLink((link) => {
    link.latencyMs = 1 + random.below(spreadMs)
  })
  simulation.trace(
    -1,
    `seed ${seed}: ${JSON.stringify({ powers, plan, churns, byzantine: [...byzantine].map(([index, { name }]) => `${index} ${name}`) })}`,
  )
  if (random.oneIn(validators > 8 ? 2 : 5)) simulation.thinOut(random, Math.max(3, Math.ceil(validators / 6)))
  for (const node of simulation.nodes) {
    node.work.buildMs = random.between(0, 40)
    node.work.validateMs = random.between(0, 40)
    node.work.finalizeMs = random.between(0, 60)
  }
  simulation.startAll()
  simulation.connectAll()
  scheduleFaults(simulation, plan)
  simulation.run(random.between(2_000, validators > 10 ? 4_000 : 14_000))
  if (mode === 'liveness' && simulation.violations.length === 0) checkLiveness(simulation)
  return {
    seed,
    validators,
    mode,
    violations: simulation.violations,
    height: simulation.monitor.height,
    maxRound: simulation.monitor.maxRound,
    events: simulation.queue.executed,
    virtualMs: simulation.queue.nowMs,
  }
}

function checkLiveness(simulation: Simulation): void {
  calm(simulation)
  const begin = simulation.queue.nowMs
  const goal = simulation.monitor.height + LIVENESS_HEIGHTS
  if (simulation.runToHeight(goal, LIVENESS_LIMIT_MS) || simulation.violations.length > 0) return
  const heights = simulation.nodes.map(({ application, engine, isHonest }) => {
    const view = engine?.roundState
    return `${isHonest ? '' : 'byzantine '}${application.height} at ${view?.height}/${view?.round}/${view?.step}`
  })
  simulation.monitor.report(
    'liveness',
    `block ${goal} is not everywhere ${simulation.queue.nowMs - begin} ms after the faults: ${heights.join(', ')}`,
  )
}

function withoutUndefined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
