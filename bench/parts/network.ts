import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LocalNetwork, makeNetwork, type NetworkNode, waitForHeight } from '../../test/e2e/network/localNetwork.ts'
import { percentile } from '../measure/percentile.ts'
import { residentMegabytes, threadTimes } from '../measure/processUsage.ts'
import type { Row } from '../report.ts'

/** Blocks before the measured ones: connections settle, code is compiled. */
const WARM_UP_BLOCKS = 20

interface Usage {
  readonly cpuMs: number
  readonly sentBytes: number
  readonly diskBytes: number
}

/** Intervals of empty blocks in a network of so many validators on this machine, and what a block costs each of them. */
export async function measureNetwork(validators: number, blocks: number): Promise<readonly Row[]> {
  const network = await makeNetwork({ validators, environment: { VIEW_THREADS: '1', PRUNING: 'archive' } })
  try {
    await network.start()
    const from = (await highest(network)) + WARM_UP_BLOCKS
    await waitForHeight(network.seed, from, 120_000)
    const before = await usage(network)
    await waitForHeight(network.seed, from + blocks, blocks * 2_000)
    const after = await usage(network)
    const { intervals, laterRounds } = await timesOf(network.seed, from, from + blocks)
    const label = `${validators} validators`
    const each = (value: (usage: Usage) => number): number => (value(after) - value(before)) / validators / blocks
    return [
      { name: `${label}: block interval, mean`, unit: 'ms', value: mean(intervals) },
      ...[50, 95, 99].map((percent) => ({
        name: `${label}: block interval, p${percent}`,
        unit: 'ms',
        value: percentile(
          intervals.toSorted((a, b) => a - b),
          percent,
        ),
      })),
      { name: `${label}: blocks decided after round 0`, unit: `of ${blocks}`, value: laterRounds },
      { name: `${label}: CPU of a node per block`, unit: 'ms', value: each(({ cpuMs }) => cpuMs) },
      { name: `${label}: bytes that a node sends per block`, unit: 'bytes', value: each(({ sentBytes }) => sentBytes) },
      { name: `${label}: bytes on disk of a node per block`, unit: 'bytes', value: each(({ diskBytes }) => diskBytes) },
      { name: `${label}: memory of a node`, unit: 'MB', value: mean(network.nodes.map(residentOf)) },
    ]
  } finally {
    await network.stop()
  }
}

async function highest({ nodes }: LocalNetwork): Promise<number> {
  return Math.max(...(await Promise.all(nodes.map((node) => node.height()))))
}

function residentOf(node: NetworkNode): number {
  return residentMegabytes(node.running.process.pid!)
}

async function usage({ nodes }: LocalNetwork): Promise<Usage> {
  const all = await Promise.all(nodes.map(usageOf))
  const sum = (value: (usage: Usage) => number): number => all.reduce((total, one) => total + value(one), 0)
  return {
    cpuMs: sum(({ cpuMs }) => cpuMs),
    sentBytes: sum(({ sentBytes }) => sentBytes),
    diskBytes: sum(({ diskBytes }) => diskBytes),
  }
}

async function usageOf(node: NetworkNode): Promise<Usage> {
  const times = threadTimes(node.running.process.pid!)
  const metrics = await (await fetch(`http://127.0.0.1:${node.variables.METRICS_PORT}/metrics`)).text()
  const sent = metrics.matchAll(/^coind_p2p_sent_bytes_total\{[^}]*\} (\S+)$/gm)
  return {
    cpuMs: [...times.values()].reduce((total, ms) => total + ms, 0),
    sentBytes: [...sent].reduce((total, [, bytes]) => total + Number(bytes), 0),
    diskBytes: bytesBelow(join(node.home, 'db')),
  }
}

function bytesBelow(directory: string): number {
  return readdirSync(directory).reduce((sum, name) => sum + sizeOf(join(directory, name)), 0)
}

/** Returns the size of a file; the database may have dropped it since it was listed. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

interface CommitAnswer {
  readonly signed_header: {
    readonly header: { readonly time: string }
    readonly commit: { readonly round: number }
  }
}

/** Returns the milliseconds between the times of consecutive blocks, and how many blocks needed more than one round. */
async function timesOf(node: NetworkNode, from: number, to: number) {
  const intervals: number[] = []
  let laterRounds = 0
  let last: number | undefined
  for (let height = from; height <= to; height++) {
    const { signed_header } = await node.comet<CommitAnswer>(`commit?height=${height}`)
    const timeMs = Date.parse(signed_header.header.time)
    if (last !== undefined) intervals.push(timeMs - last)
    if (signed_header.commit.round > 0) laterRounds++
    last = timeMs
    await sleep(0)
  }
  return { intervals, laterRounds }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
