import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PROPERTY_RUNS } from '../../propertyRuns.ts'
import {
  differences,
  type LocalNetwork,
  makeNetwork,
  type NetworkNode,
  QUICK,
  waitForHalt,
  waitForHeight,
} from './localNetwork.ts'

interface CometBlock {
  readonly block: {
    readonly header: { readonly time: string; readonly proposer_address: string }
    readonly last_commit: {
      readonly height: string
      readonly signatures: readonly { readonly validator_address: string }[]
    }
    readonly evidence: { readonly evidence: readonly unknown[] }
  }
}

const HOUR_MS = 3_600_000
/** Enough for the watch on the clock, and for each of four validators to have its turn. */
const BLOCKS = 16
const POLL = { timeout: 60_000, interval: 250 }

let network: LocalNetwork
let strange: NetworkNode
let others: readonly NetworkNode[]
let address: string

beforeAll(async () => {
  if (PROPERTY_RUNS === 1) return
  network = await makeNetwork({ ...QUICK, validators: 4 })
  await network.start()
  strange = network.validators[3]!
  others = network.validators.slice(0, 3)
  const status = await strange.comet<{ readonly validator_info: { readonly address: string } }>('status')
  address = status.validator_info.address
})
afterAll(() => network?.stop())

/** The next blocks, once all nodes have them. */
async function nextBlocks(count: number): Promise<readonly CometBlock['block'][]> {
  const from = (await others[0]!.height()) + 1
  await Promise.all(network.nodes.map((node) => waitForHeight(node, from + count, 120_000)))
  return blocks(from, from + count)
}

async function blocks(from: number, to: number): Promise<readonly CometBlock['block'][]> {
  const heights = Array.from({ length: to - from + 1 }, (_, i) => from + i)
  return Promise.all(
    heights.map(async (height) => (await others[0]!.comet<CometBlock>(`block?height=${height}`)).block),
  )
}

// Processes take a minute for it: npm test has the same in the simulator (test/sim).
const inLongRun = describe.runIf(PROPERTY_RUNS > 1)

inLongRun('a validator of four that gets an older copy of its directory', () => {
  it('signs nothing where it may have signed before, and signs again then', async () => {
    const copy = join(network.directory, 'copy')
    await strange.kill('SIGTERM')
    cpSync(strange.home, copy, { recursive: true })
    await strange.start()
    const from = await strange.height()
    await nextBlocks(10)

    // Now it votes at one height, again and again, which is not decided.
    const [first, second, third] = others
    await Promise.all([first!.kill('SIGKILL'), second!.kill('SIGKILL')])
    const [height] = await waitForHalt([third!, strange])
    await strange.kill('SIGKILL')
    rmSync(strange.home, { recursive: true })
    cpSync(copy, strange.home, { recursive: true })
    await strange.start()
    await waitForHeight(strange, height!)
    await expect.poll(() => strange.running.output(), POLL).toContain('signs nothing until a height is decided')

    await Promise.all([first!.start(), second!.start()])
    const isSigning = async () => {
      const newest = await others[0]!.height()
      return (await blocks(newest, newest))[0]!.last_commit.signatures.some(
        ({ validator_address }) => validator_address === address,
      )
    }
    await expect.poll(isSigning, POLL).toBe(true)
    await nextBlocks(5)
    const evidence = (await blocks(from, await others[0]!.height())).flatMap((block) => block.evidence.evidence)
    expect(evidence).toEqual([])
    expect(await differences(network.nodes)).toEqual([])
  })
})

/** Variables of a node whose wall clock, in each of its threads, is so far ahead of the machine's. */
function clockAhead(offsetMs: number): Readonly<Record<string, string>> {
  const statements = `
    const RealDate = Date
    const now = () => RealDate.now() + ${offsetMs}
    globalThis.Date = class Date extends RealDate {
      constructor(...args) { args.length === 0 ? super(now()) : super(...args) }
      static now() { return now() }
    }`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(statements)}` }
}

async function offsetOf({ variables }: NetworkNode): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${variables.METRICS_PORT}/metrics`)).text()
  return Number(/^coind_clock_offset_seconds\S* (\S+)$/m.exec(metrics)?.[1])
}

inLongRun('a validator of four whose clock is wrong', () => {
  it.each([
    ['an hour ahead', HOUR_MS, "clock is ahead of the network's"],
    ['an hour behind', -HOUR_MS, "clock is behind the network's"],
  ])(
    'by %s: blocks go on with right times and without its own, and its operator is told',
    async (_, offsetMs, text) => {
      await strange.kill('SIGTERM')
      await strange.start(clockAhead(offsetMs))
      const before = Date.now()
      const found = await nextBlocks(BLOCKS)
      const times = found.map(({ header }) => Date.parse(header.time))
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      expect(times[0]).toBeGreaterThan(before - 60_000)
      expect(times.at(-1)).toBeLessThanOrEqual(Date.now() + 500)
      expect(found.filter(({ header }) => header.proposer_address === address)).toEqual([])
      await expect.poll(() => strange.running.output(), POLL).toContain(text)
      expect(Math.abs((await offsetOf(strange)) - offsetMs / 1000)).toBeLessThan(60)
      for (const node of others) expect(Math.abs(await offsetOf(node))).toBeLessThan(60)
    },
  )

  it('proposes again when its clock is right', async () => {
    await strange.kill('SIGTERM')
    await strange.start()
    const proposers = async () => (await nextBlocks(8)).map(({ header }) => header.proposer_address)
    await expect.poll(proposers, POLL).toContain(address)
    expect(await differences(network.nodes)).toEqual([])
  })
})
