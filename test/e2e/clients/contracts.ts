import { readFileSync } from 'node:fs'
import {
  createPublicClient,
  createWalletClient,
  type Hex,
  http,
  type PublicClient,
  parseAbi,
  type WalletClient,
} from 'viem'
import { beforeAll, expect, it } from 'vitest'
import { compileContract } from '../../../contracts/compile.ts'
import { ACCOUNTS, COIN, ERC20_ABI, freshAddress, NATIVE_TOKEN, viemChain } from '../devChain.ts'
import type { TestNode } from '../startNode.ts'

const FACTORY_ABI = parseAbi([
  'constructor(address feeToSetter)',
  'function createPair(address tokenA, address tokenB) returns (address pair)',
  'function getPair(address, address) view returns (address)',
  'event PairCreated(address indexed token0, address indexed token1, address pair, uint256)',
])
const PAIR_ABI = parseAbi([
  'function mint(address to) returns (uint256 liquidity)',
  'function burn(address to) returns (uint256 amount0, uint256 amount1)',
  'function swap(uint256 amount0Out, uint256 amount1Out, address to, bytes data)',
  'function getReserves() view returns (uint112 reserve0, uint112 reserve1, uint32 blockTimestampLast)',
  'function token0() view returns (address)',
  'function totalSupply() view returns (uint256)',
  'function balanceOf(address) view returns (uint256)',
  'function transfer(address to, uint256 value) returns (bool)',
  'event Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, uint256 amount1Out, address indexed to)',
  'event Sync(uint112 reserve0, uint112 reserve1)',
])
/**
 * A pair writes two more slots when the second has changed since its last update, which an estimate in the same second cannot
 * know.
 */
const PAIR_GAS = 300_000n
/** A pair keeps that much of its first liquidity for ever. */
const MINIMUM_LIQUIDITY = 1_000n

const account = ACCOUNTS[1]!
const TOKEN = compileContract('test/SampleToken.sol', 'SampleToken')
let node: TestNode
let reader: PublicClient
let writer: WalletClient

/** A deployed ERC-20, with the calls that the tests make. */
interface Token {
  readonly address: Hex
  balanceOf(holder: Hex): Promise<bigint>
  transfer(to: Hex, amount: bigint): Promise<void>
}

/** Contracts that everybody uses, through viem. */
export function contractsTests(devnet: () => TestNode): void {
  beforeAll(async () => {
    node = devnet()
    const chain = viemChain(node.url)
    reader = createPublicClient({ chain, transport: http(node.url), pollingInterval: 100 }) as PublicClient
    writer = createWalletClient({ chain, transport: http(node.url), account })
  })

  async function succeeds(hash: Hex) {
    const receipt = await reader.waitForTransactionReceipt({ hash })
    expect(receipt.status).toBe('success')
    return receipt
  }

  function tokenAt(address: Hex): Token {
    const contract = { address, abi: ERC20_ABI } as const
    return {
      address,
      balanceOf: (holder) => reader.readContract({ ...contract, functionName: 'balanceOf', args: [holder] }),
      transfer: async (to, amount) => {
        const request = { ...contract, chain: null, account, functionName: 'transfer', args: [to, amount] } as const
        await succeeds(await writer.writeContract(request))
      },
    }
  }

  async function deployToken(name: string, symbol: string, supply: bigint): Promise<Token> {
    const args = [name, symbol, supply]
    const hash = await writer.deployContract({ chain: null, account, abi: TOKEN.abi, bytecode: TOKEN.bytecode, args })
    return tokenAt((await succeeds(hash)).contractAddress!)
  }

  it('runs an OpenZeppelin ERC-20', async () => {
    const token = await deployToken('Sample', 'SMP', 1_000n)
    const contract = { address: token.address, abi: ERC20_ABI } as const
    const [name, symbol, decimals, supply] = await reader.multicall({
      // The genesis has it where viem expects it on most chains.
      multicallAddress: '0xca11bde05977b3631167028862be2a173976ca11',
      allowFailure: false,
      contracts: [
        { ...contract, functionName: 'name' },
        { ...contract, functionName: 'symbol' },
        { ...contract, functionName: 'decimals' },
        { ...contract, functionName: 'totalSupply' },
      ],
    })
    expect([name, symbol, decimals, supply]).toEqual(['Sample', 'SMP', 18, 1_000n])

    const to = freshAddress()
    await token.transfer(to, 400n)
    expect(await Promise.all([account.address, to].map(token.balanceOf))).toEqual([600n, 400n])
    await expect(
      reader.simulateContract({ ...contract, account, functionName: 'transfer', args: [to, 601n] }),
    ).rejects.toThrow('ERC20InsufficientBalance')

    const spender = ACCOUNTS[2]!
    const approval = { ...contract, chain: null, functionName: 'approve', args: [spender.address, 100n] } as const
    await succeeds(await writer.writeContract({ ...approval, account }))
    const spending = { ...contract, chain: null, functionName: 'transferFrom' } as const
    const other = createWalletClient({ chain: viemChain(node.url), transport: http(node.url), account: spender })
    const receipt = await succeeds(
      await other.writeContract({ ...spending, account: spender, args: [account.address, to, 60n] }),
    )
    expect(receipt.logs).toHaveLength(1)
    expect(await Promise.all([account.address, to].map(token.balanceOf))).toEqual([540n, 460n])
    const allowed = { ...contract, functionName: 'allowance', args: [account.address, spender.address] } as const
    expect(await reader.readContract(allowed)).toBe(40n)
  })

  /** The constant-product rule with 0.3 % fee: what `amountIn` buys. */
  function amountOut(amountIn: bigint, reserveIn: bigint, reserveOut: bigint): bigint {
    const withFee = amountIn * 997n
    return (withFee * reserveOut) / (reserveIn * 1_000n + withFee)
  }

  async function deployFactory(): Promise<Hex> {
    const path = new URL('../../../node_modules/@uniswap/v2-core/build/UniswapV2Factory.json', import.meta.url)
    const { bytecode } = JSON.parse(readFileSync(path, 'utf8')) as { bytecode: string }
    const hash = await writer.deployContract({
      chain: null,
      account,
      abi: FACTORY_ABI,
      bytecode: `0x${bytecode.replace(/^0x/, '')}`,
      args: [account.address],
    })
    return (await succeeds(hash)).contractAddress!
  }

  it.each([
    ['two ERC-20 tokens', () => deployToken('Other', 'OTH', 10n * COIN)],
    ['a token and COIN itself', async () => tokenAt(NATIVE_TOKEN)],
  ] as const)('runs Uniswap v2 between %s', async (_pair, makeSecond) => {
    const factory = { address: await deployFactory(), abi: FACTORY_ABI } as const
    const first = await deployToken('Sample', 'SMP', 10n * COIN)
    const second = await makeSecond()
    await succeeds(
      await writer.writeContract({
        ...factory,
        chain: null,
        account,
        functionName: 'createPair',
        args: [first.address, second.address],
      }),
    )
    const address = await reader.readContract({
      ...factory,
      functionName: 'getPair',
      args: [second.address, first.address],
    })
    const pair = { address, abi: PAIR_ABI } as const
    const firstIs0 = (await reader.readContract({ ...pair, functionName: 'token0' })).toLowerCase() === first.address
    const [token0, token1] = firstIs0 ? [first, second] : [second, first]

    const [reserve0, reserve1] = [4n * COIN, COIN]
    await token0.transfer(address, reserve0)
    await token1.transfer(address, reserve1)
    const minting = {
      ...pair,
      chain: null,
      account,
      functionName: 'mint',
      args: [account.address],
      gas: PAIR_GAS,
    } as const
    await succeeds(await writer.writeContract(minting))
    // sqrt(4 × 1) × 10^18
    expect(await reader.readContract({ ...pair, functionName: 'totalSupply' })).toBe(2n * COIN)
    const shares = { ...pair, functionName: 'balanceOf', args: [account.address] } as const
    expect(await reader.readContract(shares)).toBe(2n * COIN - MINIMUM_LIQUIDITY)

    const trader = freshAddress()
    const paid = COIN / 10n
    const bought = amountOut(paid, reserve0, reserve1)
    await token0.transfer(address, paid)
    const swap = { ...pair, chain: null, account, functionName: 'swap' } as const
    await expect(
      reader.simulateContract({ ...swap, chain: undefined, args: [0n, bought + 1n, trader, '0x'] }),
    ).rejects.toThrow('UniswapV2: K')
    const receipt = await succeeds(
      await writer.writeContract({ ...swap, args: [0n, bought, trader, '0x'], gas: PAIR_GAS }),
    )
    expect(await token1.balanceOf(trader)).toBe(bought)
    const events = await reader.getContractEvents({ ...pair, eventName: 'Swap', blockHash: receipt.blockHash })
    expect(events[0]?.args).toMatchObject({ amount0In: paid, amount1In: 0n, amount0Out: 0n, amount1Out: bought })
    const [left0, left1] = await reader.readContract({ ...pair, functionName: 'getReserves' })
    expect([left0, left1]).toEqual([reserve0 + paid, reserve1 - bought])
    expect(await Promise.all([token0, token1].map((token) => token.balanceOf(address)))).toEqual([left0, left1])

    const share = (2n * COIN) / 4n
    await succeeds(
      await writer.writeContract({ ...pair, chain: null, account, functionName: 'transfer', args: [address, share] }),
    )
    await succeeds(
      await writer.writeContract({
        ...pair,
        chain: null,
        account,
        functionName: 'burn',
        args: [trader],
        gas: PAIR_GAS,
      }),
    )
    expect(await token0.balanceOf(trader)).toBe(left0 / 4n)
    expect(await token1.balanceOf(trader)).toBe(bought + left1 / 4n)
  })
}
