import { compileContract } from '../../contracts/compile.ts'
import type { Address } from '../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import { call, waitForReceipt } from '../load/rpc.ts'
import { type Account, FUNDER, sign } from '../load/sign.ts'
import type { Target } from '../targets/target.ts'
import { nonceOf, sendAll } from './accounts.ts'

/** COIN's own ERC-20 contract. */
export const NATIVE_TOKEN = hexToBytes('0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE')

const SUPPLY = 10n ** 30n
const SHARE = 10n ** 24n
const DEPLOY_GAS = 3_000_000n

/** A contract's creation code with its arguments (`constructor(string, string, uint256)`). */
function tokenCode(): Uint8Array {
  const { bytecode } = compileContract('test/SampleToken.sol', 'SampleToken')
  const text = (value: string): string =>
    word(BigInt(value.length)) + Buffer.from(value).toString('hex').padEnd(64, '0')
  return hexToBytes(bytecode + word(96n) + word(160n) + word(SUPPLY) + text('Bench') + text('BEN'))
}

/** Deploys code and gives the contract's address and block. */
export async function deploy(
  target: Target,
  code: Uint8Array,
): Promise<{ readonly address: string; readonly block: string }> {
  const nonce = BigInt(await nonceOf(target, FUNDER))
  const { raw, hash } = sign(FUNDER, { nonce, data: code, gasLimit: DEPLOY_GAS })
  await call(target.url, 'eth_sendRawTransaction', [raw])
  const { contractAddress, blockNumber } = await waitForReceipt(target.url, hash)
  return { address: contractAddress!, block: blockNumber }
}

/** Deploys an OpenZeppelin token and gives each account a share. */
export async function deployToken(target: Target, holders: readonly Account[]): Promise<Address> {
  const token = hexToBytes((await deploy(target, tokenCode())).address)
  const first = await nonceOf(target, FUNDER)
  await sendAll(
    target,
    holders.map(({ address }, index) =>
      sign(FUNDER, { nonce: BigInt(first + index), to: token, data: transferData(address, SHARE), gasLimit: 100_000n }),
    ),
  )
  return token
}

/** Call data of `transfer(address,uint256)`. */
export function transferData(to: Address, amount: bigint): Uint8Array {
  return hexToBytes(`0xa9059cbb${addressWord(to)}${word(amount)}`)
}

/** Call data of `balanceOf(address)`. */
export function balanceOfData(account: Address): string {
  return `0x70a08231${addressWord(account)}`
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, '0')
}

function addressWord(address: Address): string {
  return bytesToHex(address).slice(2).padStart(64, '0')
}
