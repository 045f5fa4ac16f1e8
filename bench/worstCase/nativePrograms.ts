import { bank } from '../../src/modules/bank/precompile/bank.ts'
import { nativeToken } from '../../src/modules/bank/precompile/nativeToken.ts'
import { distribution } from '../../src/modules/distribution/precompile/distribution.ts'
import { governance } from '../../src/modules/gov/precompile/governance.ts'
import { encodeValues, selectorOf } from '../../src/modules/precompileFunctions/abi/codec.ts'
import type { AbiFields, AbiValues } from '../../src/modules/precompileFunctions/abi/types.ts'
import type { TabledPrecompile } from '../../src/modules/precompileFunctions/dispatch.ts'
import { slashing } from '../../src/modules/slashing/precompile/slashing.ts'
import { staking } from '../../src/modules/staking/precompile/staking.ts'
import { bech32 } from '../../src/precompiles/bech32.ts'
import { moduleAddress, toBech32 } from '../../src/primitives/address.ts'
import { bytesToHex, concatBytes } from '../../src/primitives/bytes.ts'
import { helper, type LoopOptions, loop, type Program } from './program.ts'
import { ACCOUNT_FACTOR, MAX_CODE, SLOT_FACTOR } from './testState.ts'

const TOKEN = bytesToHex(nativeToken.address)
const MODULE = bytesToHex(moduleAddress('distribution'))
const LARGE_INPUT = 512 * 1_024
const GROW = `0 ${LARGE_INPUT - 32} MSTORE`
const KINDS = ['CALL', 'CALLCODE', 'DELEGATECALL', 'STATICCALL'] as const
const RESERVE = 500_000
const ACCOUNT = new Uint8Array(20).fill(0xab)
const PAGE = { key: new Uint8Array(0), offset: 0n, limit: 0n, countTotal: true, reverse: false }
/** Three bytes of UTF-8, two in a string of JavaScript, so that it is decoded and encoded at length. */
const TEXT = '€'.repeat(100_000)

/** Returns the words of a call with `length` bytes of input from memory, whose result is dropped. */
function callWords(to: string, gas: string, length: number, kind = 'CALL', value = 0): string {
  const hasValue = kind === 'CALL' || kind === 'CALLCODE'
  return `0 0 ${length} 0 ${hasValue ? value : ''} ${to} ${gas} ${kind} POP`
}

/** Returns a loop of calls of a function with the same arguments; long ones are in memory from several contracts. */
function functionLoop(
  precompile: TabledPrecompile,
  name: string,
  values: AbiValues<AbiFields> = {},
  { remark = '', ...options }: LoopOptions & { readonly remark?: string } = {},
): Program {
  const { inputs, signature } = precompile.functions.find((entry) => entry.name === name)!
  const input = concatBytes(selectorOf(signature), encodeValues(inputs, values))
  const sources = Array.from({ length: Math.ceil(input.length / MAX_CODE) }, (_, index) =>
    helper(index + 1, input.subarray(index * MAX_CODE, (index + 1) * MAX_CODE)),
  )
  const copies = sources.map(
    ({ address, code }, index) => `${code.length} 0 ${index * MAX_CODE} ${bytesToHex(address)} EXTCODECOPY`,
  )
  const to = bytesToHex(precompile.address)
  return loop(
    `${signature.split('(')[0]} of ${to.slice(0, 6)}…${to.slice(-4)}${remark}`,
    callWords(to, 'GAS', input.length),
    {
      setup: copies.join(' '),
      helpers: sources,
      unroll: 8,
      ...options,
    },
  )
}

/** Calls of contracts inside of the node: the cheapest that there are, and the dearest for their gas. */
export function nativePrograms(): Program[] {
  return [
    ...KINDS.flatMap((kind) => [
      loop(
        `${kind} of the native token without a function, 512 KB of input`,
        callWords(TOKEN, '200', LARGE_INPUT, kind),
        {
          setup: GROW,
        },
      ),
      loop(`${kind} of the native token with too little gas for a deposit`, callWords(TOKEN, '200', 0, kind)),
      loop(`${kind} of a module's account`, callWords(MODULE, '0', 0, kind)),
    ]),
    loop("CALL with value of a module's account", callWords(MODULE, '0', 0, 'CALL', 1)),
    loop('CALL with value of the native token, out of gas', callWords(TOKEN, '0', 0, 'CALL', 1)),
    loop('CALL with value of the native token', callWords(TOKEN, '10000', 0, 'CALL', 1), { reserve: RESERVE }),
    ...[
      ['BALANCE of 64 accounts', 'BALANCE', ACCOUNT_FACTOR] as const,
      ['SLOAD of 64 slots', 'SLOAD', SLOT_FACTOR] as const,
    ].map(([name, opcode, factor]) =>
      loop(
        `${name} after each deposit`,
        `${callWords(TOKEN, '10000', 0)} ${Array.from({ length: 64 }, (_, index) => `${index + 1} ${factor} MUL ${opcode} POP`).join(' ')}`,
        { unroll: 1, reserve: RESERVE },
      ),
    ),
    ...(['decimals', 'name', 'totalSupply'] as const).map((name) => functionLoop(nativeToken, name)),
    functionLoop(nativeToken, 'balanceOf', { account: ACCOUNT }),
    functionLoop(nativeToken, 'allowance', { owner: ACCOUNT, spender: ACCOUNT }),
    functionLoop(nativeToken, 'transfer', { to: ACCOUNT, value: 1n }, { reserve: RESERVE }),
    functionLoop(nativeToken, 'approve', { spender: ACCOUNT, value: 1n }, { reserve: RESERVE }),
    functionLoop(nativeToken, 'withdraw', { wad: 1n }, { reserve: RESERVE }),
    functionLoop(nativeToken, 'withdraw', { wad: 1n << 255n }, { remark: ', refused' }),
    functionLoop(bank, 'balances', { account: ACCOUNT }),
    functionLoop(bank, 'totalSupply'),
    functionLoop(bech32, 'hexToBech32', { addr: ACCOUNT, prefix: 'coin' }),
    functionLoop(bech32, 'bech32ToHex', { bech32Address: toBech32(ACCOUNT) }),
    functionLoop(bech32, 'bech32ToHex', { bech32Address: TEXT }, { remark: ', 300 KB of text' }),
    functionLoop(staking, 'validators', { status: '', pageRequest: PAGE }),
    functionLoop(staking, 'validators', { status: 'BOND_STATUS_UNBONDING', pageRequest: PAGE }, { remark: ', none' }),
    functionLoop(staking, 'validators', { status: TEXT, pageRequest: PAGE }, { remark: ', 300 KB of text' }),
    functionLoop(staking, 'validator', { validatorAddress: ACCOUNT }),
    functionLoop(slashing, 'getSigningInfos', { pagination: PAGE }),
    functionLoop(slashing, 'getParams'),
    functionLoop(governance, 'getParams'),
    functionLoop(governance, 'getProposals', {
      proposalStatus: 0n,
      voter: ACCOUNT,
      depositor: ACCOUNT,
      pagination: PAGE,
    }),
    functionLoop(governance, 'getVote', { proposalId: 1n, voter: ACCOUNT }),
    functionLoop(governance, 'getVotes', { proposalId: 1n, pagination: PAGE }),
    functionLoop(distribution, 'communityPool'),
    functionLoop(distribution, 'delegationTotalRewards', { delegatorAddress: ACCOUNT }),
    functionLoop(distribution, 'delegatorWithdrawAddress', { delegatorAddress: ACCOUNT }),
  ]
}
