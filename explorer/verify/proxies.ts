import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import type { ServiceQueries } from '../database/services.ts'
import { type NodeClient, NodeRefusal } from '../node/nodeClient.ts'
import type { VerifiedContract } from './verifiedContracts.ts'

/* Proxies and the contracts whose code they run. */

/** Slots of storage with the implementation: ERC-1967, ERC-1822, and OpenZeppelin's before those. */
const IMPLEMENTATION_SLOTS = [
  '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc',
  '0xc5f16f0fcc639fa48a6947836d9850f504798523bf8c9a3a87d5876cf622bcf7',
  '0x7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3',
] as const
/** ERC-1967: the slot with a contract that names the implementation. */
const BEACON_SLOT = '0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50'
/** ERC-1167: code that has the implementation in the middle. */
const CLONE = /^0x363d3d373d3d3d363d73([0-9a-f]{40})5af43d82803e903d91602b57fd5bf3$/
/** `implementation()` */
const IMPLEMENTATION_CALL = '0x5c60da1b'
/** Gas of the call to a beacon: 100,000. */
const CALL_GAS = '0x186a0'

/** The contract whose code a proxy runs. */
export interface Implementation {
  readonly implementation: Uint8Array
  /** the code of the proxy is that of ERC-1167, which has no sources */
  readonly isClone: boolean
}

/**
 * The contract whose code a proxy runs, as the node has it now. It is two batches of questions at most.
 * @param address of the proxy
 * @returns undefined: the contract is not a proxy of a known kind
 * @throws NodeError
 */
export async function findImplementation(
  node: Pick<NodeClient, 'ethereum'>,
  address: Uint8Array,
): Promise<Implementation | undefined> {
  const proxy = bytesToHex(address)
  const [code, beacon, ...words] = (await node.ethereum([
    { method: 'eth_getCode', params: [proxy, 'latest'] },
    ...[BEACON_SLOT, ...IMPLEMENTATION_SLOTS].map((slot) => ({
      method: 'eth_getStorageAt',
      params: [proxy, slot, 'latest'],
    })),
  ])) as readonly [string, string, ...string[]]
  const clone = CLONE.exec(code)?.[1]
  if (clone !== undefined) return { implementation: hexToBytes(`0x${clone}`), isClone: true }
  for (const word of words) {
    const implementation = readAddress(word)
    if (implementation !== undefined) return { implementation, isClone: false }
  }
  const named = readAddress(beacon)
  if (named === undefined) return undefined
  const implementation = await askBeacon(node, named)
  return implementation && { implementation, isClone: false }
}

/** The implementation that a beacon names; undefined: it is not a beacon. @throws NodeError */
async function askBeacon(node: Pick<NodeClient, 'ethereum'>, beacon: Uint8Array): Promise<Uint8Array | undefined> {
  const call = { to: bytesToHex(beacon), data: IMPLEMENTATION_CALL, gas: CALL_GAS }
  try {
    const [answer] = await node.ethereum([{ method: 'eth_call', params: [call, 'latest'] }])
    return readAddress(answer as string)
  } catch (error) {
    // The call reverted, or needs more gas.
    if (error instanceof NodeRefusal) return undefined
    throw error
  }
}

/** The address in a word; undefined: the word is 0, or not an address. */
function readAddress(word: string): Uint8Array | undefined {
  if (!/^0x0{24}[0-9a-f]{40}$/.test(word) || /^0x0*$/.test(word)) return undefined
  return hexToBytes(`0x${word.slice(-40)}`)
}

/** Stores that a proxy runs the code of another contract. A contract has one link: the newest. */
export async function storeProxy(
  services: ServiceQueries,
  address: Uint8Array,
  implementation: Uint8Array,
  nowMs: number,
): Promise<void> {
  const values = { implementation, linked_at: nowMs }
  await services
    .insertInto('proxy_link')
    .values({ address, ...values })
    .onConflict((conflict) => conflict.column('address').doUpdateSet(values))
    .execute()
}

/**
 * The implementation that was stored for a proxy.
 * @param verified the proxy's own verification: a newer one is of another contract, or says more, so the link counts no longer
 */
export async function findProxy(
  services: ServiceQueries,
  address: Uint8Array,
  verified: Pick<VerifiedContract, 'verifiedAtMs'> | undefined,
): Promise<Uint8Array | undefined> {
  const row = await services
    .selectFrom('proxy_link')
    .select(['implementation', 'linked_at'])
    .where('address', '=', address)
    .executeTakeFirst()
  if (row === undefined || row.linked_at < (verified?.verifiedAtMs ?? 0)) return undefined
  return row.implementation
}
