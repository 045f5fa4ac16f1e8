import { type AbiFunction, type AbiParameter, type AbiEvent as SolidityEvent, toEventSignature } from 'viem'
import { describe, expect, it } from 'vitest'
import { STATIC_PRECOMPILES } from '../../../src/chain/genesis/genesisConstants.ts'
import { bank } from '../../../src/modules/bank/precompile/bank.ts'
import { nativeToken } from '../../../src/modules/bank/precompile/nativeToken.ts'
import { isBlockedAddress } from '../../../src/modules/bank/send.ts'
import { distribution } from '../../../src/modules/distribution/precompile/distribution.ts'
import { governance } from '../../../src/modules/gov/precompile/governance.ts'
import { selectorOf, topicOf } from '../../../src/modules/precompileFunctions/abi/codec.ts'
import type { AbiFields } from '../../../src/modules/precompileFunctions/abi/types.ts'
import type { TabledPrecompile } from '../../../src/modules/precompileFunctions/dispatch.ts'
import { slashing } from '../../../src/modules/slashing/precompile/slashing.ts'
import { staking } from '../../../src/modules/staking/precompile/staking.ts'
import { bech32 } from '../../../src/precompiles/bech32.ts'
import { precompileTable } from '../../../src/precompiles/registry.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { ABIS, ADDRESSES, type PrecompileName } from '../../support/precompiles/nativeChain.ts'

const CONTRACTS: readonly (readonly [PrecompileName, TabledPrecompile])[] = [
  ['bech32', bech32],
  ['staking', staking],
  ['distribution', distribution],
  ['bank', bank],
  ['gov', governance],
  ['slashing', slashing],
]

const COIN = '(string,uint256)'
const DEC_COIN = '(string,uint256,uint8)'
const DEC = '(uint256,uint8)'
const PAGE = '(bytes,uint64,uint64,bool,bool)'
const PAGE_RESPONSE = '(bytes,uint64)'
const DESCRIPTION = '(string,string,string,string,string)'
const VALIDATOR = `(string,string,bool,uint8,uint256,uint256,${DESCRIPTION},int64,int64,uint256,uint256)`
const REDELEGATION_ENTRY = '(int64,int64,uint256,uint256)'
const REDELEGATION = `(string,string,string,${REDELEGATION_ENTRY}[])`
const VOTE_OPTION = '(uint8,string)'
const VOTE = `(uint64,address,${VOTE_OPTION}[],string)`
const DEPOSIT = `(uint64,address,${COIN}[])`
const TALLY = '(string,string,string,string)'
const PROPOSAL = `(uint64,string[],uint32,${TALLY},uint64,uint64,${COIN}[],uint64,uint64,string,string,string,address)`
const GOV_PARAMS = `(int64,${COIN}[],int64,string,string,string,string,string,string,int64,string,${COIN}[],bool,bool,bool,string)`
const SIGNING_INFO = '(address,int64,int64,int64,bool,int64)'

/** Selector, signature, outputs and mutability of every function, as cosmos/evm's ABIs have them. */
const FUNCTIONS: Readonly<Record<PrecompileName, readonly (readonly [string, string, string, string])[]>> = {
  bech32: [
    ['f958a98c', 'hexToBech32(address,string)', 'string', 'nonpayable'],
    ['e6df461e', 'bech32ToHex(string)', 'address', 'nonpayable'],
  ],
  staking: [
    [
      'f7cd5516',
      `createValidator(${DESCRIPTION},(uint256,uint256,uint256),uint256,address,string,uint256)`,
      'bool',
      'nonpayable',
    ],
    ['a50f05ac', `editValidator(${DESCRIPTION},address,int256,int256)`, 'bool', 'nonpayable'],
    ['53266bbb', 'delegate(address,string,uint256)', 'bool', 'nonpayable'],
    ['3edab33c', 'undelegate(address,string,uint256)', 'int64', 'nonpayable'],
    ['54b826f5', 'redelegate(address,string,string,uint256)', 'int64', 'nonpayable'],
    ['12d58dfe', 'cancelUnbondingDelegation(address,string,uint256,uint256)', 'bool', 'nonpayable'],
    ['241774e6', 'delegation(address,string)', `uint256,${COIN}`, 'view'],
    [
      'a03ffee1',
      'unbondingDelegation(address,string)',
      '(string,string,(int64,int64,uint256,uint256,uint64,int64)[])',
      'view',
    ],
    ['223b3b7a', 'validator(address)', VALIDATOR, 'view'],
    ['186b2167', `validators(string,${PAGE})`, `${VALIDATOR}[],${PAGE_RESPONSE}`, 'view'],
    ['7d9f939c', 'redelegation(address,string,string)', REDELEGATION, 'view'],
    [
      '10a2851c',
      `redelegations(address,string,string,${PAGE})`,
      `(${REDELEGATION},(${REDELEGATION_ENTRY},uint256)[])[],${PAGE_RESPONSE}`,
      'view',
    ],
  ],
  distribution: [
    ['2efe8a5f', 'claimRewards(address,uint32)', 'bool', 'nonpayable'],
    ['5a9d9a96', 'setWithdrawAddress(address,string)', 'bool', 'nonpayable'],
    ['b46a8d61', 'withdrawDelegatorRewards(address,string)', `${COIN}[]`, 'nonpayable'],
    ['3ce4e3be', 'withdrawValidatorCommission(string)', `${COIN}[]`, 'nonpayable'],
    ['2d2b079c', `fundCommunityPool(address,${COIN}[])`, 'bool', 'nonpayable'],
    ['2eb1df52', `depositValidatorRewardsPool(address,string,${COIN}[])`, 'bool', 'nonpayable'],
    ['54212a89', 'validatorDistributionInfo(string)', `(string,${DEC_COIN}[],${DEC_COIN}[])`, 'view'],
    ['85b2d2da', 'validatorOutstandingRewards(string)', `${DEC_COIN}[]`, 'view'],
    ['3dd40f78', 'validatorCommission(string)', `${DEC_COIN}[]`, 'view'],
    ['8f2473ce', `validatorSlashes(string,uint64,uint64,${PAGE})`, `(uint64,${DEC})[],${PAGE_RESPONSE}`, 'view'],
    ['9ad563b4', 'delegationRewards(address,string)', `${DEC_COIN}[]`, 'view'],
    ['54be1a28', 'delegationTotalRewards(address)', `(string,${DEC_COIN}[])[],${DEC_COIN}[]`, 'view'],
    ['a66cb605', 'delegatorValidators(address)', 'string[]', 'view'],
    ['5431f450', 'delegatorWithdrawAddress(address)', 'string', 'view'],
    ['14d140b0', 'communityPool()', `${DEC_COIN}[]`, 'view'],
  ],
  bank: [
    ['27e235e3', 'balances(address)', '(address,uint256)[]', 'view'],
    ['18160ddd', 'totalSupply()', '(address,uint256)[]', 'view'],
    ['62400e4c', 'supplyOf(address)', 'uint256', 'view'],
  ],
  gov: [
    ['a8fdc919', `submitProposal(address,bytes,${COIN}[])`, 'uint64', 'nonpayable'],
    ['a33e3086', 'cancelProposal(address,uint64)', 'bool', 'nonpayable'],
    ['b24b0376', `deposit(address,uint64,${COIN}[])`, 'bool', 'nonpayable'],
    ['9ec4d363', 'vote(address,uint64,uint8,string)', 'bool', 'nonpayable'],
    ['8f1d5f6c', `voteWeighted(address,uint64,${VOTE_OPTION}[],string)`, 'bool', 'nonpayable'],
    ['335e4f9a', 'getVote(uint64,address)', VOTE, 'view'],
    ['e2bb86da', `getVotes(uint64,${PAGE})`, `${VOTE}[],${PAGE_RESPONSE}`, 'view'],
    ['77412782', 'getDeposit(uint64,address)', DEPOSIT, 'view'],
    ['5e982a9b', `getDeposits(uint64,${PAGE})`, `${DEPOSIT}[],${PAGE_RESPONSE}`, 'view'],
    ['ba66a648', 'getTallyResult(uint64)', TALLY, 'view'],
    ['f1610a28', 'getProposal(uint64)', PROPOSAL, 'view'],
    ['b01ceebc', `getProposals(uint32,address,address,${PAGE})`, `${PROPOSAL}[],${PAGE_RESPONSE}`, 'view'],
    ['5e615a6b', 'getParams()', GOV_PARAMS, 'view'],
    ['ee05ad82', 'getConstitution()', 'string', 'view'],
  ],
  slashing: [
    ['449ecfe6', 'unjail(address)', 'bool', 'nonpayable'],
    ['69e1f9df', 'getSigningInfo(address)', SIGNING_INFO, 'view'],
    ['c6919f55', `getSigningInfos(${PAGE})`, `${SIGNING_INFO}[],${PAGE_RESPONSE}`, 'view'],
    ['5e615a6b', 'getParams()', `(int64,${DEC},int64,${DEC},${DEC})`, 'view'],
  ],
}

/** First eight bytes of topics, how many parameters are indexed. */
const EVENTS: Readonly<Record<PrecompileName, Readonly<Record<string, readonly [string, number]>>>> = {
  bech32: {},
  bank: {},
  staking: {
    CreateValidator: ['0x9bdb560f8135cb46', 1],
    EditValidator: ['0xdce27cf2792bd8d8', 1],
    Delegate: ['0x500599802164a080', 2],
    Unbond: ['0x4bf8087be3b8a59c', 2],
    Redelegate: ['0x82b07f2421474f1e', 3],
    CancelUnbondingDelegation: ['0x6dbe2fb6b2613bdd', 2],
  },
  distribution: {
    ClaimRewards: ['0x1f89f96333d31330', 1],
    SetWithdrawerAddress: ['0xb55d29542a844fa6', 1],
    WithdrawDelegatorReward: ['0xcf871d3149ad677b', 2],
    WithdrawValidatorCommission: ['0x27596802346c7411', 1],
    FundCommunityPool: ['0xb5a9b7256a6fa694', 1],
    DepositValidatorRewardsPool: ['0xcc9d914347a4afdb', 2],
  },
  gov: {
    SubmitProposal: ['0xf49a3a8232aff855', 1],
    CancelProposal: ['0xce915fda53e9b1b6', 1],
    Deposit: ['0xeb37d10626d027ab', 1],
    Vote: ['0x71c096cfbbce3e73', 1],
    VoteWeighted: ['0xf02e1ed429f5f839', 1],
  },
  slashing: { ValidatorUnjailed: ['0x9390b453426557da', 1] },
}

function typeOf(parameter: AbiParameter): string {
  if (!parameter.type.startsWith('tuple')) return parameter.type
  const { components } = parameter as { components: readonly AbiParameter[] } & AbiParameter
  return `(${components.map(typeOf).join(',')})${parameter.type.slice(5)}`
}

const typesOf = (parameters: readonly AbiParameter[]) => parameters.map(typeOf).join(',')
const namesOf = (parameters: readonly AbiParameter[]) => parameters.map(({ name }) => name)
const tableTypes = (fields: AbiFields) =>
  Object.values(fields)
    .map(({ name }) => name)
    .join(',')

describe.each(CONTRACTS)('%s', (name, precompile) => {
  const events = Object.values(precompile.events)

  it('has the functions of cosmos/evm, and no others', () => {
    const rows = precompile.functions.map(({ signature, outputs, mutability }) => [
      bytesToHex(selectorOf(signature)).slice(2),
      signature,
      tableTypes(outputs),
      mutability,
    ])
    expect(rows.sort()).toEqual([...FUNCTIONS[name]].sort())
  })

  it('is what its Solidity interface says', () => {
    const functions = ABIS[name].filter((item): item is AbiFunction => item.type === 'function')
    const table = new Map(precompile.functions.map((row) => [row.signature, row]))
    expect(functions.length).toBe(table.size)
    for (const { name: functionName, inputs, outputs, stateMutability } of functions) {
      const row = table.get(`${functionName}(${typesOf(inputs)})`)
      expect(row, functionName).toBeDefined()
      expect([row!.mutability, tableTypes(row!.outputs)]).toEqual([stateMutability, typesOf(outputs)])
      expect(Object.keys(row!.inputs)).toEqual(namesOf(inputs))
      expect(Object.keys(row!.outputs)).toEqual(namesOf(outputs))
    }
  })

  it('has the events of cosmos/evm and of its interface', () => {
    const topics = Object.fromEntries(
      events.map((event) => [
        event.name,
        [bytesToHex(topicOf(event.signature)).slice(0, 18), Object.keys(event.indexed).length],
      ]),
    )
    expect(topics).toEqual(EVENTS[name])
    const declared = ABIS[name].filter((item): item is SolidityEvent => item.type === 'event')
    expect(declared.map((event) => toEventSignature(event)).sort()).toEqual(
      events.map(({ signature }) => signature).sort(),
    )
    for (const { name: eventName, inputs } of declared) {
      const event = events.find((one) => one.name === eventName)!
      expect(namesOf(inputs.filter(({ indexed }) => indexed === true))).toEqual(Object.keys(event.indexed))
      expect(namesOf(inputs)).toEqual([...Object.keys(event.indexed), ...Object.keys(event.data)])
    }
  })

  it('is where cosmos/evm has it, and nobody can send coins there', () => {
    expect(bytesToHex(precompile.address)).toBe(ADDRESSES[name])
    expect(isBlockedAddress(precompile.address)).toBe(true)
  })
})

describe('the registry', () => {
  it('knows every precompile that a new chain registers', () => {
    const table = precompileTable(STATIC_PRECOMPILES.map(hexToBytes))
    const contracts = CONTRACTS.map(([, precompile]) => precompile)
    expect([...table.values()].slice(-contracts.length)).toEqual(contracts)
    expect(precompileTable([nativeToken.address]).size).toBe(precompileTable([]).size + 1)
  })

  it('refuses an address that it has nothing for', () => {
    expect(() => precompileTable([hexToBytes('0x0000000000000000000000000000000000000802')])).toThrow(/lacks/)
  })
})
