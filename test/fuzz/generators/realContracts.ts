import { createRequire } from 'node:module'
import { compileContract } from '../../../contracts/compile.ts'
import { PREINSTALLS } from '../../../src/chain/genesis/createGenesis.ts'
import type { Address } from '../../../src/primitives/address.ts'
import { bytesToBigInt, concatBytes, hexToBytes, padLeft } from '../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../src/primitives/hash.ts'
import type { FuzzAccount } from '../fuzzCase.ts'
import { CONTRACTS, SENDER } from '../population.ts'

/** A contract of the world outside, with functions to call: the words that follow the selector are addresses, amounts or bytes. */
export interface RealContract {
  readonly account: FuzzAccount
  readonly calls: readonly CallShape[]
}

export interface CallShape {
  readonly selector: Uint8Array
  readonly inputs: readonly ('address' | 'amount' | 'bytes')[]
}

export const TOKEN_A: Address = hexToBytes('0xaaaa000000000000000000000000000000000001')
export const WRAPPED: Address = hexToBytes('0xaaaa000000000000000000000000000000000002')
export const PAIR: Address = hexToBytes('0xaaaa000000000000000000000000000000000003')
const FACTORY: Address = hexToBytes('0xaaaa000000000000000000000000000000000004')

const SUPPLY = 10n ** 24n
const RESERVE = 10n ** 21n

const TOKEN_CALLS = shapes(
  'transfer(address,amount)',
  'transferFrom(address,address,amount)',
  'approve(address,amount)',
  'balanceOf(address)',
  'allowance(address,address)',
  'totalSupply()',
  'name()',
  'symbol()',
  'decimals()',
)

/** Built once: compiling takes seconds where the cache is cold. */
export function realContracts(): readonly RealContract[] {
  known ??= build()
  return known
}

let known: readonly RealContract[] | undefined

function build(): readonly RealContract[] {
  const token = { nonce: 1n, balance: 0n }
  const holders = [SENDER, ...CONTRACTS]
  return [
    {
      account: {
        ...token,
        address: TOKEN_A,
        code: deployed('test/SampleToken.sol', 'SampleToken'),
        storage: [
          ...balances(0n, [...holders, PAIR]),
          [2n, SUPPLY],
          [3n, shortText('Fuzz')],
          [4n, shortText('FUZ')],
          [mappingSlot(CONTRACTS[0]!, mappingSlot(SENDER, 1n)), 2n ** 256n - 1n],
        ],
      },
      calls: TOKEN_CALLS,
    },
    {
      account: {
        ...token,
        address: WRAPPED,
        balance: SUPPLY,
        code: deployed('WrappedCoin.sol', 'WrappedCoin'),
        storage: [[0n, SUPPLY], ...balances(1n, [...holders, PAIR])],
      },
      calls: [...TOKEN_CALLS, ...shapes('deposit()', 'withdraw(amount)')],
    },
    uniswapPair(),
    {
      account: { ...token, address: FACTORY, code: uniswapCode('UniswapV2Factory'), storage: [[1n, 1n]] },
      calls: shapes('createPair(address,address)', 'feeTo()', 'allPairsLength()', 'setFeeTo(address)'),
    },
    ...PREINSTALLS.map(
      ({ address, code }): RealContract => ({
        account: { ...token, address: hexToBytes(address), code: hexToBytes(code), storage: [] },
        calls: PREINSTALL_CALLS,
      }),
    ),
  ]
}

const PREINSTALL_CALLS = shapes(
  'getEthBalance(address)',
  'getBlockHash(amount)',
  'getChainId()',
  'getBlockNumber()',
  'getCurrentBlockCoinbase()',
  'DOMAIN_SEPARATOR()',
  'approve(address,address,amount,amount)',
  'transferFrom(address,address,amount,address)',
  'allowance(address,address,address)',
)

/** UniswapV2Pair 1.0.1: total supply at slot 0, balances 1, factory 5, tokens 6 and 7, reserves 8, lock 12. */
function uniswapPair(): RealContract {
  const word = (address: Address): bigint => bytesToBigInt(address)
  const reserves = (1_600_000_000n << 224n) | (RESERVE << 112n) | RESERVE
  return {
    account: {
      address: PAIR,
      nonce: 1n,
      balance: 0n,
      code: uniswapCode('UniswapV2Pair'),
      storage: [
        [0n, SUPPLY],
        ...balances(1n, [SENDER, PAIR]),
        [5n, word(FACTORY)],
        [6n, word(TOKEN_A)],
        [7n, word(WRAPPED)],
        [8n, reserves],
        [12n, 1n],
      ],
    },
    calls: [
      ...TOKEN_CALLS,
      ...shapes(
        'swap(amount,amount,address,bytes)',
        'mint(address)',
        'burn(address)',
        'skim(address)',
        'sync()',
        'getReserves()',
        'token0()',
        'kLast()',
        'initialize(address,address)',
        'permit(address,address,amount,amount,amount,amount,amount)',
      ),
    ],
  }
}

function balances(mapping: bigint, holders: readonly Address[]): [bigint, bigint][] {
  return holders.map((holder) => [mappingSlot(holder, mapping), 10n ** 22n])
}

function mappingSlot(key: Address, mapping: bigint): bigint {
  return bytesToBigInt(keccak256(concatBytes(padLeft(key, 32), padLeft(hexToBytes(evenHex(mapping)), 32))))
}

/** Solidity's storage form of a text of less than 32 bytes. */
function shortText(text: string): bigint {
  const bytes = new Uint8Array(32)
  bytes.set(new TextEncoder().encode(text))
  bytes[31] = text.length * 2
  return bytesToBigInt(bytes)
}

function evenHex(value: bigint): string {
  const digits = value.toString(16)
  return digits.length % 2 === 0 ? digits : `0${digits}`
}

function deployed(file: string, name: string): Uint8Array {
  return hexToBytes(compileContract(file, name).deployedBytecode)
}

function uniswapCode(name: string): Uint8Array {
  const build = createRequire(import.meta.url)(`@uniswap/v2-core/build/${name}.json`) as {
    readonly evm: { readonly deployedBytecode: { readonly object: string } }
  }
  return hexToBytes(build.evm.deployedBytecode.object)
}

/** Selectors of signatures in which `amount` stands for any integer. */
function shapes(...signatures: string[]): CallShape[] {
  return signatures.map((signature) => {
    const canonical = signature.replaceAll('amount', 'uint256')
    const inputs = signature.slice(signature.indexOf('(') + 1, -1).split(',')
    return {
      selector: keccak256(new TextEncoder().encode(canonical)).slice(0, 4),
      inputs: inputs.filter((input) => input !== '') as CallShape['inputs'],
    }
  })
}
