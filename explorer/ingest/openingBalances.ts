import { writeGenesisContracts } from '../contracts/contractBook.ts'
import { amountToBytes } from '../database/amount.ts'
import type { IndexWriter, Row } from '../database/indexDatabase.ts'
import { endPosition } from '../database/position.ts'
import type { GenesisAnswer } from '../node/answers.ts'
import { type NodeClient, NodeRefusal } from '../node/nodeClient.ts'
import { accountOf, coinsOf } from '../node/readAnswers.ts'

/** Accounts asked for at once. */
const PAGE = 1000

interface Owners {
  readonly denom_owners: readonly { readonly address: string; readonly balance: { readonly amount: string } }[]
  readonly pagination: { readonly next_key: string | null }
}

/**
 * Writes the balances to which the movements from block `first` on are added: those of the genesis when that is the first block
 * (with the contracts of the genesis), else those after the block before. Where the node has no state that old, they are those after
 * `state`, and movements up to there are not added.
 * @param state a block whose state the node retains
 * @returns the height after which the balances are those
 */
export async function writeOpeningBalances(
  writer: IndexWriter,
  node: Pick<NodeClient, 'comet' | 'rest' | 'ethereum'>,
  first: number,
  state: number,
): Promise<number> {
  if (first === 1) {
    const [answer] = (await node.comet([{ method: 'genesis', params: {} }])) as [GenesisAnswer]
    const rows = answer.genesis.app_state.bank.balances.map(({ address, coins }): Row<'coin_balance'> => {
      const total = coins.reduce((sum, { amount, denom }) => sum + coinsOf(`${amount}${denom}`), 0n)
      return { address: accountOf(address), amount: amountToBytes(total), position: 0 }
    })
    await writer.replace('coin_balance', rows)
    await writeGenesisContracts(writer, answer)
    return 0
  }
  const height = Math.max(first - 1, state)
  let key: string | null = ''
  while (key !== null) {
    const query = new URLSearchParams({
      'pagination.limit': String(PAGE),
      ...(key === '' ? {} : { 'pagination.key': key }),
    })
    const page = (await node.rest(`/cosmos/bank/v1beta1/denom_owners/acoin?${query}`, height)) as Owners
    const rows = page.denom_owners.map(
      ({ address, balance }): Row<'coin_balance'> => ({
        address: accountOf(address),
        amount: amountToBytes(BigInt(balance.amount)),
        position: endPosition(height),
      }),
    )
    await writer.replace('coin_balance', rows)
    key = page.pagination.next_key
  }
  return height
}

/** Finds the oldest block whose state the node has. It tries blocks, because nodes have no method that reports this height. */
export async function oldestStateHeight(node: Pick<NodeClient, 'rest'>, first: number, last: number): Promise<number> {
  let [low, high] = [first, last]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (await hasState(node, middle)) high = middle
    else low = middle + 1
  }
  return low
}

async function hasState(node: Pick<NodeClient, 'rest'>, height: number): Promise<boolean> {
  try {
    await node.rest('/cosmos/bank/v1beta1/supply', height)
    return true
  } catch (error) {
    if (error instanceof NodeRefusal) return false
    throw error
  }
}
