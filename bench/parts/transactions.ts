import type { UnsignedTransaction } from '../../src/chain/block/transaction.ts'
import type { Address } from '../../src/primitives/address.ts'
import { bigIntToBytes } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import { assemble, creationCode, repeat } from '../code/assemble.ts'
import { callData } from '../contracts/abi.ts'
import { deploy, deployContract } from '../contracts/deploy.ts'
import { deployMarket } from '../contracts/market.ts'
import { endow, transferData } from '../contracts/token.ts'
import { runLoad } from '../load/httpLoad.ts'
import { nextBlock, untilIncluded } from '../load/inBlocks.ts'
import { requestBody } from '../load/rpc.ts'
import { type Account, GWEI, sign } from '../load/sign.ts'
import type { Target } from '../targets/target.ts'
import { giveTokens, noncesOf } from './accounts.ts'

/** Makes the transaction that account `sender` sends as number `index` of a load. */
export type TransactionMaker = (index: number, sender: number) => Partial<UnsignedTransaction>

/** Recipients of the load's transfers. */
export const RECIPIENTS = Array.from({ length: 2_000 }, (_, index) => keccak256(Buffer.from(`to ${index}`)).slice(12))
const TOKEN_GAS = 100_000n
const SWAP_GAS = 150_000n
const SLOTS = 20
const SLOTS_GAS = 500_000n
/** Odd, so that no two products are the same. */
const SLOT_FACTOR = `0x${'d6e8feb86659fd93'.repeat(4)}`
const PAID = 10n ** 15n
const MAX_UINT256 = 2n ** 256n - 1n
const SETUP_IN_FLIGHT = 100

const recipientOf = (index: number): Address => RECIPIENTS[index % RECIPIENTS.length]!

/** Makes transfers of the native coin. */
export function coinTransfers(): TransactionMaker {
  return (index) => ({ to: recipientOf(index), value: 1n })
}

export function tokenTransfers(token: Address): TransactionMaker {
  return (index) => ({ to: token, data: transferData(recipientOf(index), 1n), gasLimit: TOKEN_GAS })
}

/**
 * Makes transactions that each set {@link SLOTS} new slots of one contract, spread over all keys as
 * those of mappings are.
 */
export async function newSlots(target: Target): Promise<TransactionMaker> {
  const write = `1 ADD DUP1 DUP1 ${SLOT_FACTOR} MUL SSTORE`
  const code = assemble(`PUSH0 CALLDATALOAD ${repeat(write, SLOTS)} STOP`)
  const { address } = await deploy(target, creationCode(code))
  return (index) => ({ to: address, data: bigIntToBytes(BigInt(index * SLOTS), 32), gasLimit: SLOTS_GAS })
}

/** Swaps on Uniswap v2; accounts with an even number sell the first token, the others the second. */
export async function swaps(
  target: Target,
  distributor: Address,
  accounts: readonly Account[],
): Promise<TransactionMaker> {
  const { pair, tokens } = await deployMarket(target)
  const router = await deployContract(target, 'Router', pair, ...tokens)
  for (const side of [0, 1] as const) {
    await endow(target, tokens[side], distributor)
    await giveTokens(
      target,
      distributor,
      tokens[side],
      accounts.filter((_, index) => index % 2 === side),
    )
  }
  await approveAll(target, router, tokens, accounts)
  const sells0 = callData('swap(bool,uint256,uint256)', true, PAID, 1n)
  const sells1 = callData('swap(bool,uint256,uint256)', false, PAID, 1n)
  return (_, sender) => ({ to: router, data: sender % 2 === 0 ? sells0 : sells1, gasLimit: SWAP_GAS })
}

async function approveAll(
  target: Target,
  router: Address,
  tokens: readonly [Address, Address],
  accounts: readonly Account[],
): Promise<void> {
  const nonces = await noncesOf(target, accounts)
  const data = callData('approve(address,uint256)', router, MAX_UINT256)
  const bodies = accounts.map((account, index) => {
    const fields = { nonce: BigInt(nonces[index]!), data, gasLimit: TOKEN_GAS, maxFeePerGas: 500n * GWEI }
    const { raw } = sign(account, { ...fields, to: tokens[index % 2]! })
    return requestBody(index, 'eth_sendRawTransaction', [raw])
  })
  const firstBlock = await nextBlock(target.url)
  const { errors, firstError } = await runLoad({ port: target.port, bodies, inFlight: SETUP_IN_FLIGHT })
  if (errors > 0) throw new Error(`approvals were refused: ${firstError}`)
  await untilIncluded(target.url, firstBlock, bodies.length)
}
