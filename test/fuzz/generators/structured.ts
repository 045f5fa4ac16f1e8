import { createAddress } from '../../../src/evm/contractAddress.ts'
import type { Address } from '../../../src/primitives/address.ts'
import { EMPTY_BYTES } from '../../../src/primitives/bytes.ts'
import type { FuzzAccount, FuzzCase } from '../fuzzCase.ts'
import { messageTo, pickFork } from '../messages.ts'
import { bystanders, CONTRACTS, contractAccount } from '../population.ts'
import type { Random } from '../random.ts'
import { initCode } from './creations.ts'
import { createProgram } from './program.ts'
import { ending, statements } from './statements.ts'

/** Contracts of a few statements that call, create and destroy one another. */
export function structuredCase(random: Random): Omit<FuzzCase, 'isSliced'> {
  const fork = pickFork(random)
  const accounts = bystanders(random)
  const createdAt: Address[] = []
  for (const self of CONTRACTS.slice(0, random.between(1, CONTRACTS.length))) {
    const budget = random.oneIn(10) ? random.between(15, 40) : random.between(1, 9)
    const program = createProgram(random, fork, { self, budget, createdAt })
    statements(program)
    ending(program)
    accounts.push(contractAccount(self, program.writer.finish(), random))
  }
  const messages = Array.from({ length: random.oneIn(5) ? random.between(2, 3) : 1 }, () => {
    if (!random.oneIn(8)) return messageTo(random, random.oneIn(12) ? random.pick(CONTRACTS) : CONTRACTS[0]!)
    const program = createProgram(random, fork, { budget: 3 })
    return { ...messageTo(random, undefined), data: initCode(program) }
  })
  const sender = accounts[0]!
  if (random.oneIn(10)) createdAt.push(createAddress(sender.address, sender.nonce))
  for (const address of createdAt) accounts.push(obstacle(address, random))
  return { kind: 'structured', fork, accounts, messages }
}

/** What a creation may find at its address; only nonce, code and storage are in its way (EIP-684, EIP-7610). */
function obstacle(address: Address, random: Random): FuzzAccount {
  const what = random.below(5)
  return {
    address,
    nonce: what === 0 ? 1n : 0n,
    balance: what === 3 ? 9n : 0n,
    code: what === 1 ? Uint8Array.of(0) : EMPTY_BYTES,
    storage: what === 2 ? [[1n, 1n]] : [],
    locked: what >= 3 ? 5n : 0n,
  }
}
