import { describe, expect, it } from 'vitest'
import { createPrecompileGas } from '../../../../src/evm/precompileGas.ts'
import { applyTransaction } from '../../../../src/evm/transition.ts'
import { adoptSpeculation } from '../../../../src/execution/parallel/speculation.ts'
import { createSpeculator } from '../../../../src/execution/parallel/speculator.ts'
import { createTableMemory, STATES, VersionTable } from '../../../../src/execution/parallel/versionTable.ts'
import { bigIntToBytes, bytesToHex } from '../../../../src/primitives/bytes.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { stateOf } from '../../../fuzz/fuzzCase.ts'
import { generateCase } from '../../../fuzz/generateCase.ts'
import { SENDER } from '../../../fuzz/population.ts'
import { BLOCK, CHAIN_ID, PRECOMPILES, transactionOf } from '../../../fuzz/runCase.ts'
import { firstSeed, runs } from '../../../propertyRuns.ts'
import { productionEngine } from '../../../support/evm/productionEngine.ts'
import { createRandom } from '../../../support/state/randomChain.ts'

/** Little, so that some blocks run out of it. */
const PRECOMPILE_GAS = 40_000n
/** A case's transactions come so often in a block. */
const TIMES = 3

const table = new VersionTable(createTableMemory(1), 0)

/** What a block keeps of a transaction. */
function factsOf(outcome: Awaited<ReturnType<typeof applyTransaction>> | Record<string, unknown>): unknown {
  if ('reason' in outcome) return outcome.reason
  const { status, gasUsed, effectiveGasPrice, logs, transfers, createdAddress, fees, blobGasUsed } = outcome
  return { status, gasUsed, effectiveGasPrice, logs, transfers, createdAddress, fees, blobGasUsed }
}

/**
 * Executes a generated block twice: in order, and by speculations in an order that leaves out many versions, of which those are adopted
 * that are still true.
 */
async function compare(
  seed: number,
  number: number,
): Promise<{ readonly adopted: number; readonly conflicts: number }> {
  const random = createRandom(number)
  const fuzzCase = generateCase(seed, number)
  const rules = { fork: fuzzCase.fork, chainId: CHAIN_ID }
  const messages = Array.from({ length: TIMES }, () => fuzzCase.messages).flat()
  const state = stateOf(fuzzCase)
  const before = state.getAccount(SENDER)?.nonce ?? 0n
  const transactions = messages.map((message, index) => transactionOf(message, before + BigInt(index)))
  const shared = { block: BLOCK, rules, engine: productionEngine, precompiles: PRECOMPILES }

  const worlds = [new Journal(state), new Journal(state)] as const
  const gas = [createPrecompileGas(PRECOMPILE_GAS), createPrecompileGas(PRECOMPILE_GAS)] as const
  const parties: [string[], string[]] = [[], []]
  const inOrder = async (which: 0 | 1, index: number) => {
    const outcome = await applyTransaction({
      ...shared,
      world: worlds[which],
      transaction: transactions[index]!,
      sender: SENDER,
      precompileGas: gas[which],
      onParty: (address) => parties[which].push(bytesToHex(address)),
    })
    if (outcome.kind === 'applied') worlds[which].addBalance(BLOCK.coinbase, outcome.fees.tipAcoin)
    return outcome
  }

  table.open(number + 1)
  table.clearRegion()
  const speculate = createSpeculator(table, {
    ...shared,
    state,
    precompileGas: PRECOMPILE_GAS,
    collectsParties: true,
    now: () => 0,
  })
  for (const [index, transaction] of transactions.entries()) {
    if (random(6) > 0) await speculate(index, { transaction, sender: SENDER })
  }

  let adopted = 0
  let conflicts = 0
  for (const index of transactions.keys()) {
    // What no speculation knows of, as native transactions are.
    if (random(5) === 0) {
      const { address, storage } = fuzzCase.accounts[random(fuzzCase.accounts.length)]!
      const slot = random(2) === 0 ? undefined : storage[0]?.[0]
      for (const world of worlds) {
        if (slot === undefined) world.addBalance(address, 1n)
        else world.setStorage(address, bigIntToBytes(slot, 32), Uint8Array.of(1 + index))
      }
    }
    const expected = await inOrder(0, index)
    const isDone = table.state(index) === STATES.done
    const found = isDone ? adoptSpeculation(table.result(index), worlds[1], gas[1].left) : undefined
    if (found === undefined) {
      if (isDone) conflicts++
      expect(factsOf(await inOrder(1, index))).toEqual(factsOf(expected))
      continue
    }
    adopted++
    gas[1].left -= found.precompileGas
    parties[1].push(...found.parties.map(bytesToHex))
    worlds[1].addBalance(BLOCK.coinbase, found.outcome.fees.tipAcoin)
    expect(factsOf(found.outcome)).toEqual(factsOf(expected))
  }
  expect(gas[1].left).toBe(gas[0].left)
  expect(parties[1]).toEqual(parties[0])
  expect(worlds[1].changes()).toEqual(worlds[0].changes())
  return { adopted, conflicts }
}

describe('speculations about generated transactions', () => {
  it('change nothing of what an execution in order gives, whether they are adopted or not', async () => {
    const blocks = runs(500)
    const totals = { adopted: 0, conflicts: 0 }
    for (let number = 0; number < blocks; number++) {
      const { adopted, conflicts } = await compare(firstSeed(1), number)
      totals.adopted += adopted
      totals.conflicts += conflicts
    }
    expect(totals.adopted).toBeGreaterThan(blocks / 2)
    expect(totals.conflicts).toBeGreaterThan(blocks / 20)
  })
})
