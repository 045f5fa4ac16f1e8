import { setTimeout as sleep } from 'node:timers/promises'
import { makeNetwork } from '../../test/e2e/network/localNetwork.ts'
import { threadTimes, usedBetween } from '../measure/processUsage.ts'
import type { Row } from '../report.ts'

interface EmptyBlockOptions {
  readonly validators: number
  /** after the start V8 still compiles what runs often */
  readonly warmUpSeconds: number
  readonly seconds: number
}

/** Measures the processor time of an empty block in a network of so many validators, all on this machine, without clients. */
export async function measureEmptyBlocks(options: EmptyBlockOptions): Promise<readonly Row[]> {
  const { validators, warmUpSeconds, seconds } = options
  const network = await makeNetwork({ validators, environment: { VIEW_THREADS: '2' } })
  try {
    await network.start()
    const pids = network.nodes.map(({ running }) => running.process.pid!)
    const look = (): Map<string, number> => sumOf(pids.map(threadTimes))
    await sleep(warmUpSeconds * 1_000)
    const first = await network.seed.height()
    const before = look()
    await sleep(seconds * 1_000)
    const after = look()
    const share = validators * ((await network.seed.height()) - first)
    const used = usedBetween(before, after).map(([thread, ms]) => [thread, ms / share] as const)
    return [
      {
        name: `empty block, ${validators} validators: CPU of a node`,
        unit: 'ms',
        value: used.reduce((sum, [, ms]) => sum + ms, 0),
        note: used.map(([thread, ms]) => `${thread} ${ms.toFixed(1)}`).join(', '),
      },
    ]
  } finally {
    await network.stop()
  }
}

function sumOf(all: readonly ReadonlyMap<string, number>[]): Map<string, number> {
  const sum = new Map<string, number>()
  for (const times of all) for (const [name, ms] of times) sum.set(name, (sum.get(name) ?? 0) + ms)
  return sum
}
