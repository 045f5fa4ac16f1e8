import { readFileSync } from 'node:fs'
import { compileContract } from '../../contracts/compile.ts'
import type { Address } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { call, waitForReceipt } from '../load/rpc.ts'
import { FUNDER, sign } from '../load/sign.ts'
import { nonceOf } from '../parts/accounts.ts'
import type { Target } from '../targets/target.ts'
import { type Argument, encodeArguments } from './abi.ts'

const DEPLOY_GAS = 6_000_000n

interface Deployed {
  readonly address: Address
  /** of the creation, as RPC writes it */
  readonly block: string
}

/** Deploys code of {@link FUNDER}. */
export async function deploy(target: Pick<Target, 'url'>, code: Uint8Array): Promise<Deployed> {
  const nonce = BigInt(await nonceOf(target, FUNDER))
  const { raw, hash } = sign(FUNDER, { nonce, data: code, gasLimit: DEPLOY_GAS })
  await call(target.url, 'eth_sendRawTransaction', [raw])
  const { contractAddress, blockNumber } = await waitForReceipt(target.url, hash)
  return { address: hexToBytes(contractAddress!), block: blockNumber }
}

/** Deploys a contract of this folder's Solidity file. */
export async function deployContract(target: Target, name: string, ...values: readonly Argument[]): Promise<Address> {
  const { bytecode } = compileContract('../bench/contracts/Bench.sol', name)
  return (await deploy(target, hexToBytes(bytecode + encodeArguments(values)))).address
}

/** Returns creation code of Uniswap v2's factory, compiled by its authors. */
export function uniswapFactoryCode(feeSetter: Address): Uint8Array {
  const path = new URL('../../node_modules/@uniswap/v2-core/build/UniswapV2Factory.json', import.meta.url)
  const { bytecode } = JSON.parse(readFileSync(path, 'utf8')) as { bytecode: string }
  return hexToBytes(`0x${bytecode.replace(/^0x/, '')}${encodeArguments([feeSetter])}`)
}
