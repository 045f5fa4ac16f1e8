import type { Address } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { creationCode } from '../code/assemble.ts'
import { deploy } from '../contracts/deploy.ts'
import { runLoad } from '../load/httpLoad.ts'
import { nextBlock, untilIncluded } from '../load/inBlocks.ts'
import { blockParameter, call, requestBody } from '../load/rpc.ts'
import { type Account, GWEI, sign } from '../load/sign.ts'
import { percentile } from '../measure/percentile.ts'
import type { Report, Row } from '../report.ts'
import type { Target } from '../targets/target.ts'
import { callPrograms } from '../worstCase/callPrograms.ts'
import { creationPrograms } from '../worstCase/creationPrograms.ts'
import { memoryPrograms } from '../worstCase/memoryPrograms.ts'
import { nativePrograms } from '../worstCase/nativePrograms.ts'
import { opcodePrograms } from '../worstCase/opcodePrograms.ts'
import { precompilePrograms } from '../worstCase/precompilePrograms.ts'
import type { Program } from '../worstCase/program.ts'
import { statePrograms } from '../worstCase/statePrograms.ts'
import { noncesOf } from './accounts.ts'

interface WorstBlocksOptions {
  /** gas of a block of the target's chain */
  readonly blockGas: number
  /** names of programs of the worst-case search */
  readonly programs: readonly string[]
}

const BLOCKS = 24
/** EIP-7825 */
export const MOST_TRANSACTION_GAS = 2 ** 24
const IN_FLIGHT = 20

/**
 * Fills blocks with each of the costliest contracts and measures the block intervals. Each sender sends its transactions of the same kind
 * one after the other.
 * @param senders with funds
 */
export async function measureWorstBlocks(
  target: Target,
  senders: readonly Account[],
  { blockGas, programs }: WorstBlocksOptions,
  report: Report,
): Promise<void> {
  const inBlock = Math.ceil(blockGas / MOST_TRANSACTION_GAS)
  const gas = Math.floor(blockGas / inBlock)
  for (const name of programs) {
    const to = await place(target, name)
    report.add(target.name, await fillBlocks(target, senders, { name, to, gas, count: BLOCKS * inBlock }))
  }
}

/**
 * Deploys a program of the worst-case search and its helpers, whose addresses in its code become the true ones.
 * @throws Error when there is no such program
 */
export async function place(target: Pick<Target, 'url'>, name: string): Promise<Address> {
  const programs: readonly Program[] = [
    ...[...opcodePrograms(), ...memoryPrograms(), ...statePrograms(), ...callPrograms(4), ...creationPrograms()],
    ...precompilePrograms(),
    ...nativePrograms(),
  ]
  const program = programs.find((candidate) => candidate.name === name)
  if (program === undefined) throw new Error(`the worst-case search has no program ${name}`)
  const { code, helpers = [] } = program
  let text = bytesToHex(code)
  for (const { address, code: helperCode } of helpers) {
    const placed = await deploy(target, creationCode(helperCode))
    text = text.replaceAll(bytesToHex(address).slice(2), bytesToHex(placed.address).slice(2)) as `0x${string}`
  }
  return (await deploy(target, creationCode(Buffer.from(text.slice(2), 'hex')))).address
}

async function fillBlocks(
  target: Target,
  senders: readonly Account[],
  load: { readonly name: string; readonly to: Address; readonly gas: number; readonly count: number },
): Promise<Row[]> {
  const { name, to, count } = load
  const nonces = await noncesOf(target, senders)
  const bodies = Array.from({ length: count }, (_, index) => {
    const sender = index % senders.length
    const fields = { nonce: BigInt(nonces[sender]!++), to, data: new Uint8Array(32), maxFeePerGas: 500n * GWEI }
    const { raw } = sign(senders[sender]!, { ...fields, gasLimit: BigInt(load.gas) })
    return requestBody(index, 'eth_sendRawTransaction', [raw])
  })
  const firstBlock = await nextBlock(target.url)
  target.takeBlocks()
  const sent = await runLoad({ port: target.port, bodies, inFlight: IN_FLIGHT })
  if (sent.errors > 0) throw new Error(`${name}: ${sent.firstError}`)
  const lastBlock = await untilIncluded(target.url, firstBlock, count)
  const blocks = (target.takeBlocks() ?? []).filter(({ txs }) => txs > 0)
  const intervals = blocks.slice(1).map(({ atMs }, index) => atMs - blocks[index]!.atMs)
  const most = (values: readonly number[]): number => Math.max(...values)
  const usedGas = await gasOfBlocks(target, firstBlock, lastBlock)
  const median = percentile(
    intervals.toSorted((a, b) => a - b),
    50,
  )
  return [
    { name: `full blocks, ${name}: interval p50`, unit: 'ms', value: median, note: `${blocks.length} blocks` },
    { name: `full blocks, ${name}: interval max`, unit: 'ms', value: most(intervals) },
    { name: `full blocks, ${name}: build max`, unit: 'ms', value: most(blocks.map(({ buildMs }) => buildMs)) },
    { name: `full blocks, ${name}: finalize max`, unit: 'ms', value: most(blocks.map((block) => block.finalizeMs)) },
    { name: `full blocks, ${name}: largest block`, unit: 'Mgas', value: most(usedGas) / 1e6 },
  ]
}

export async function gasOfBlocks(target: Pick<Target, 'url'>, first: number, last: number): Promise<number[]> {
  const gas: number[] = []
  for (let number = first; number <= last; number++) {
    const { gasUsed } = await call<{ gasUsed: string }>(target.url, 'eth_getBlockByNumber', [
      blockParameter(number),
      false,
    ])
    gas.push(Number(gasUsed))
  }
  return gas
}
