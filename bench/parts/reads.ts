import type { Address } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { assemble, repeat } from '../code/assemble.ts'
import { deploy } from '../contracts/deploy.ts'
import { balanceOfData } from '../contracts/token.ts'
import { runLoad } from '../load/httpLoad.ts'
import { call, requestBody } from '../load/rpc.ts'
import type { Account } from '../load/sign.ts'
import type { Row } from '../report.ts'
import type { Target } from '../targets/target.ts'
import { latencyRows } from './throughput.ts'

/** Requests of each kind before those that are measured: a node that has run for a second has compiled what they need. */
const WARM_UP = 50_000

/** Creation code of a contract without code. */
const TEN_LOGS = assemble(`${repeat('1 32 0 LOG1', 10)} STOP`)

/** Reads at `inFlight` requests under way. */
export async function measureReads(
  target: Target,
  accounts: readonly Account[],
  { token, count, inFlight }: { readonly token: Address; readonly count: number; readonly inFlight: number },
): Promise<Row[]> {
  const logs = await deploy(target, TEN_LOGS)
  const filter = { address: bytesToHex(logs.address), fromBlock: logs.block, toBlock: logs.block }
  const found = await call<readonly unknown[]>(target.url, 'eth_getLogs', [filter])
  if (found.length !== 10) throw new Error(`eth_getLogs gave ${found.length} logs instead of 10`)
  const address = (index: number): Address => accounts[index % accounts.length]!.address
  const reads: readonly (readonly [string, string, (index: number) => readonly unknown[]])[] = [
    ['eth_getBalance', 'eth_getBalance', (index) => [bytesToHex(address(index)), 'latest']],
    [
      'eth_call balanceOf',
      'eth_call',
      (index) => [{ to: bytesToHex(token), data: bytesToHex(balanceOfData(address(index))) }, 'latest'],
    ],
    ['eth_getLogs (10)', 'eth_getLogs', () => [filter]],
  ]
  const rows: Row[] = []
  for (const [label, method, params] of reads) {
    const bodies = Array.from({ length: count }, (_, index) => requestBody(index, method, params(index)))
    const warmUp = Array.from({ length: WARM_UP }, (_, index) => bodies[index % bodies.length]!)
    await runLoad({ port: target.port, bodies: warmUp, inFlight })
    const result = await runLoad({ port: target.port, bodies, inFlight })
    if (result.errors > 0) throw new Error(`${label}: ${result.firstError}`)
    rows.push({ name: label, unit: '/s', value: (count / result.elapsedMs) * 1_000 }, ...latencyRows(label, result))
  }
  return rows
}
