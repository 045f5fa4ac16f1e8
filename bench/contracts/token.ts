import { compileContract } from '../../contracts/compile.ts'
import type { Address } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { send } from '../parts/accounts.ts'
import type { Target } from '../targets/target.ts'
import { callData, word } from './abi.ts'
import { deploy } from './deploy.ts'

/** COIN's own ERC-20 contract. */
export const NATIVE_TOKEN = hexToBytes('0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE')

const SUPPLY = 10n ** 30n
const ENDOWMENT = 10n ** 29n

/** Deploys an OpenZeppelin token whose whole supply is {@link FUNDER}'s. */
export async function deployToken(target: Target): Promise<Address> {
  return (await deploy(target, tokenCode())).address
}

/** Sends a tenth of the supply to a contract. */
export function endow(target: Target, token: Address, holder: Address): Promise<void> {
  return send(target, token, transferData(holder, ENDOWMENT))
}

/** Returns creation code of the token with its arguments (`constructor(string, string, uint256)`). */
export function tokenCode(): Uint8Array {
  const { bytecode } = compileContract('test/SampleToken.sol', 'SampleToken')
  const text = (value: string): string =>
    word(BigInt(value.length)) + Buffer.from(value).toString('hex').padEnd(64, '0')
  return hexToBytes(bytecode + word(96n) + word(160n) + word(SUPPLY) + text('Bench') + text('BEN'))
}

export function transferData(to: Address, amount: bigint): Uint8Array {
  return callData('transfer(address,uint256)', to, amount)
}

export function balanceOfData(account: Address): Uint8Array {
  return callData('balanceOf(address)', account)
}
