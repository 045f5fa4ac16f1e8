import type { StatefulPrecompile } from '../../../src/evm/precompile.ts'
import { bytesKey, hexToBytes } from '../../../src/primitives/bytes.ts'
import { createMemoryNode, type MemoryNode } from './memoryNode.ts'
import { testAccount } from './testAccount.ts'
import { BROKEN, COUNTER, ECHO, ENVIRONMENT, FORWARDER, LOOP, REVERTER } from './testContracts.ts'

/** An address of one byte again and again. */
export const hexOf = (byte: string): string => `0x${byte.repeat(20)}`

/** A word of the EVM without 0x. */
export const word = (value: bigint | number): string => value.toString(16).padStart(64, '0')

/** Where the chain of {@link createContractNode} has contracts, and a precompile of its own that returns 42. */
export const counter = hexOf('c1')
export const reverter = hexOf('c2')
export const echo = hexOf('c3')
export const broken = hexOf('c4')
export const loop = hexOf('c5')
export const environment = hexOf('c6')
export const forwarder = hexOf('c7')
export const constant = hexOf('ee')

const CONSTANT: StatefulPrecompile = {
  address: hexToBytes(constant),
  run: () => ({ status: 'success', output: Uint8Array.of(42), gasUsed: 100n }),
}

/** The account that has coins: 10^18 acoin. */
export const alice = testAccount('alice')

/** A chain of two blocks with contracts for calls; the first block has called {@link counter} once. */
export async function createContractNode(): Promise<MemoryNode> {
  const contract = (address: string, code: Uint8Array) => ({ address: hexToBytes(address), nonce: 1n, code })
  const node = await createMemoryNode({
    accounts: [
      { address: alice.address, balance: 10n ** 18n },
      contract(counter, COUNTER),
      contract(reverter, REVERTER),
      contract(echo, ECHO),
      contract(broken, BROKEN),
      contract(loop, LOOP),
      contract(environment, ENVIRONMENT),
      contract(forwarder, FORWARDER),
      contract(constant, Uint8Array.of(0)),
    ],
    precompiles: new Map([[bytesKey(CONSTANT.address), CONSTANT]]),
  })
  await node.produce([alice.sign({ nonce: 0n, to: hexToBytes(counter) })], hexToBytes(hexOf('aa')))
  await node.produce([], hexToBytes(hexOf('bb')))
  return node
}
