import { OP } from '../../src/evm/opcodes.ts'
import { EMPTY_BYTES } from '../../src/primitives/bytes.ts'
import type { FuzzAccount, FuzzCase, FuzzMessage } from './fuzzCase.ts'
import { operandLength } from './opcodes.ts'

/** Whether the engines still differ on a case. */
type Differs = (fuzzCase: FuzzCase) => Promise<boolean>

/**
 * A smaller case on which the engines differ too: without the messages, accounts, storage and calldata that it does not need, and with
 * code in which what is not needed is JUMPDEST (so that all offsets stay) or cut off at the end.
 */
export async function minimise(fuzzCase: FuzzCase, differs: Differs): Promise<FuzzCase> {
  let smallest = fuzzCase
  const attempt = async (candidate: FuzzCase): Promise<boolean> => {
    if (!(await differs(candidate))) return false
    smallest = candidate
    return true
  }
  if (smallest.isSliced) await attempt({ ...smallest, isSliced: false })
  for (let round = 0; round < 3; round++) {
    const before = sizeOf(smallest)
    await dropEach(
      () => smallest.messages,
      (messages) => attempt({ ...smallest, messages }),
    )
    // the first account is the sender
    await dropEach(
      () => smallest.accounts.slice(1),
      (rest) => attempt({ ...smallest, accounts: [smallest.accounts[0]!, ...rest] }),
    )
    for (let index = 0; index < smallest.messages.length; index++) {
      await shrinkMessage(index, () => smallest, attempt)
    }
    for (let index = 1; index < smallest.accounts.length; index++) {
      await shrinkAccount(index, () => smallest, attempt)
    }
    if (sizeOf(smallest) === before) break
  }
  return smallest
}

async function dropEach<T>(
  items: () => readonly T[],
  attempt: (rest: readonly T[]) => Promise<boolean>,
): Promise<void> {
  for (let index = items().length - 1; index >= 0; index--) await attempt(items().toSpliced(index, 1))
}

async function shrinkMessage(index: number, current: () => FuzzCase, attempt: Differs): Promise<void> {
  const change = (fields: Partial<FuzzMessage>): Promise<boolean> => {
    const { messages } = current()
    return attempt({ ...current(), messages: messages.with(index, { ...messages[index]!, ...fields }) })
  }
  await change({ value: 0n })
  await change({ accessList: [] })
  await change({ blobHashes: [] })
  if (current().messages[index]!.to === undefined) {
    await shrinkCode(
      () => current().messages[index]!.data,
      (data) => change({ data }),
    )
  } else {
    await change({ data: EMPTY_BYTES })
  }
}

async function shrinkAccount(index: number, current: () => FuzzCase, attempt: Differs): Promise<void> {
  const change = (fields: Partial<FuzzAccount>): Promise<boolean> => {
    const { accounts } = current()
    return attempt({ ...current(), accounts: accounts.with(index, { ...accounts[index]!, ...fields }) })
  }
  await change({ balance: 0n })
  await change({ storage: [] })
  await shrinkCode(
    () => current().accounts[index]!.code,
    (code) => change({ code }),
  )
}

/** Shares of the code that are tried before a few instructions at a time. */
const CHUNKS = [2, 4, 8, 16, 32]

/** Halves, then quarters, …, then single instructions. */
async function shrinkCode(code: () => Uint8Array, attempt: (code: Uint8Array) => Promise<boolean>): Promise<void> {
  if (code().length === 0) return
  for (let keep = code().length >> 1; keep > 0; keep >>= 1) {
    while (code().length > keep && (await attempt(code().slice(0, code().length - keep)))) {
      // once more
    }
  }
  const starts = instructionStarts(code())
  const sizes = [
    ...CHUNKS.map((share) => Math.floor(starts.length / share)).filter((size) => size > 8),
    8,
    7,
    6,
    5,
    4,
    3,
    2,
    1,
  ]
  for (const size of sizes) {
    // An operation with its operands may begin anywhere.
    for (let from = 0; from < starts.length; from += size > 8 ? size : 1) {
      const begin = starts[from]!
      const end = starts[from + size] ?? code().length
      if (
        begin >= code().length ||
        code()
          .subarray(begin, end)
          .every((byte) => byte === OP.JUMPDEST)
      )
        continue
      const without = new Uint8Array(code())
      without.fill(OP.JUMPDEST, begin, end)
      await attempt(without)
    }
  }
}

function instructionStarts(code: Uint8Array): number[] {
  const starts: number[] = []
  for (let at = 0; at < code.length; at += 1 + operandLength(code[at]!)) starts.push(at)
  return starts
}

function sizeOf({ accounts, messages }: FuzzCase): number {
  const code = accounts.reduce((sum, account) => sum + account.storage.length + neededBytes(account.code), 0)
  return code + accounts.length + messages.reduce((sum, { data }) => sum + 1 + neededBytes(data), 0)
}

function neededBytes(code: Uint8Array): number {
  return code.reduce((sum, byte) => (byte === OP.JUMPDEST ? sum : sum + 1), 0)
}
