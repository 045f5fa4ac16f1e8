import { createRandom } from '../fuzz/random.ts'
import { Simulation } from './simulation.ts'

interface WideAreaOptions {
  readonly seed: number
  readonly validators: number
  readonly heights: number
}

/** Validators spread over the world, nothing goes wrong: 20 to 150 ms one way, with jitter. */
export function wideArea({ seed, validators, heights }: WideAreaOptions) {
  const simulation = new Simulation({ seed, validators })
  const random = createRandom(seed, 5)
  simulation.network.eachLink((link, from, to) => {
    if (from > to) return
    const latencyMs = random.between(20, 150)
    for (const direction of [link, simulation.network.link(to, from)]) {
      direction.latencyMs = latencyMs
      direction.jitterMs = latencyMs / 10
    }
  })
  simulation.startAll()
  simulation.connectAll()
  simulation.runToHeight(heights, heights * 2_000)
  const times = simulation.decisions.filter(({ node }) => node === 0).map(({ atMs }) => atMs)
  const intervals = times
    .slice(1)
    .map((atMs, index) => atMs - times[index]!)
    .sort((a, b) => a - b)
  return {
    simulation,
    heights: simulation.lowestHeight(),
    laterRounds: simulation.monitor.laterRounds,
    /** milliseconds */
    interval: (share: number): number => intervals[Math.floor(share * (intervals.length - 1))] ?? 0,
  }
}
