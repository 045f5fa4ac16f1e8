import type { Address } from '../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import { call } from '../load/rpc.ts'
import { FUNDER } from '../load/sign.ts'
import { send } from '../parts/accounts.ts'
import type { Target } from '../targets/target.ts'
import { callData } from './abi.ts'
import { deploy, uniswapFactoryCode } from './deploy.ts'
import { deployToken, transferData } from './token.ts'

/** A Uniswap v2 pair; the tokens in the pair's order. */
interface Market {
  readonly pair: Address
  readonly tokens: readonly [Address, Address]
}

/** Of each token, in the pair: enough that a price hardly moves. */
const LIQUIDITY = 10n ** 28n

/** Deploys two tokens and a Uniswap v2 pair of them with liquidity. */
export async function deployMarket(target: Target): Promise<Market> {
  const made = [await deployToken(target), await deployToken(target)].sort(Buffer.compare)
  const tokens = [made[0]!, made[1]!] as const
  const factory = (await deploy(target, uniswapFactoryCode(FUNDER.address))).address
  await send(target, factory, callData('createPair(address,address)', ...tokens))
  const data = bytesToHex(callData('getPair(address,address)', ...tokens))
  const answer = await call<string>(target.url, 'eth_call', [{ to: bytesToHex(factory), data }, 'latest'])
  const pair = hexToBytes(answer).slice(12)
  for (const token of tokens) await send(target, token, transferData(pair, LIQUIDITY))
  await send(target, pair, callData('mint(address)', FUNDER.address))
  return { pair, tokens }
}
