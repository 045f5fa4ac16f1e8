import { Registry } from '@cosmjs/proto-signing'
import { AminoTypes, createDefaultAminoConverters, defaultRegistryTypes } from '@cosmjs/stargate'
import { type AbiFunction, decodeFunctionData, type Hex, hexToString, toFunctionSignature } from 'viem'
import { describe, expect, it } from 'vitest'
import type { Action } from '../../../../explorer/web/src/wallet/action.ts'
import {
  DISTRIBUTION,
  DISTRIBUTION_ABI,
  ethereumCall,
  GOV,
  GOV_ABI,
  STAKING,
  STAKING_ABI,
} from '../../../../explorer/web/src/wallet/ethereumCalls.ts'
import { GOV_AMINO, nativeMessages } from '../../../../explorer/web/src/wallet/nativeMessages.ts'
import {
  GOV_ACCOUNT,
  PARAMETER_MESSAGES,
  parameterChange,
  readMessages,
} from '../../../../explorer/web/src/wallet/parameterChange.ts'
import { distribution } from '../../../../src/modules/distribution/precompile/distribution.ts'
import { governance } from '../../../../src/modules/gov/precompile/governance.ts'
import { MESSAGES } from '../../../../src/modules/messageTable.ts'
import { GOVERNANCE } from '../../../../src/modules/moduleAccounts.ts'
import { staking } from '../../../../src/modules/staking/precompile/staking.ts'
import { messageToAmino } from '../../../../src/modules/tx/aminoJson.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'

const OWN: Hex = '0x1234567890AbcdEF1234567890aBcdef12345678'
const own = toBech32(hexToBytes(OWN))
const to = { address: '0x00000000000000000000000000000000000000AA', bech32: own }
const [a, b] = ['coinvaloper1aaaa', 'coinvaloper1bbbb'] as const
const proposal = { title: 'Title', summary: 'Why\nnot', metadata: 'ipfs://a', isExpedited: false, messages: [] }

/** Each action with the function of a precompile that does it, its arguments, and the types of the native messages. */
const ACTIONS: readonly (readonly [Action, string, readonly unknown[], readonly string[]])[] = [
  [{ kind: 'delegate', validator: a, amount: 5n }, 'delegate', [OWN, a, 5n], ['MsgDelegate']],
  [{ kind: 'undelegate', validator: a, amount: 5n }, 'undelegate', [OWN, a, 5n], ['MsgUndelegate']],
  [{ kind: 'redelegate', from: a, to: b, amount: 5n }, 'redelegate', [OWN, a, b, 5n], ['MsgBeginRedelegate']],
  [
    { kind: 'cancelUnbonding', validator: a, amount: 5n, height: 77 },
    'cancelUnbondingDelegation',
    [OWN, a, 5n, 77n],
    ['MsgCancelUnbondingDelegation'],
  ],
  [{ kind: 'claim', validators: [a] }, 'withdrawDelegatorRewards', [OWN, a], ['MsgWithdrawDelegatorReward']],
  [
    { kind: 'claim', validators: [a, b] },
    'claimRewards',
    [OWN, 2],
    ['MsgWithdrawDelegatorReward', 'MsgWithdrawDelegatorReward'],
  ],
  [
    { kind: 'vote', proposal: 3, options: [{ option: 'noWithVeto', weight: '1' }] },
    'vote',
    [OWN, 3n, 4, ''],
    ['MsgVote'],
  ],
  [
    {
      kind: 'vote',
      proposal: 3,
      options: [
        { option: 'yes', weight: '0.7' },
        { option: 'abstain', weight: '0.3' },
      ],
    },
    'voteWeighted',
    [
      OWN,
      3n,
      [
        { option: 1, weight: '0.7' },
        { option: 2, weight: '0.3' },
      ],
      '',
    ],
    ['MsgVoteWeighted'],
  ],
  [
    { kind: 'deposit', proposal: 3, amount: 9n },
    'deposit',
    [OWN, 3n, [{ denom: 'acoin', amount: 9n }]],
    ['MsgDeposit'],
  ],
  [
    { kind: 'propose', proposal, deposit: 9n },
    'submitProposal',
    [OWN, expect.any(String), [{ denom: 'acoin', amount: 9n }]],
    ['MsgSubmitProposal'],
  ],
]
const PRECOMPILES = [
  [STAKING, STAKING_ABI, staking],
  [DISTRIBUTION, DISTRIBUTION_ABI, distribution],
  [GOV, GOV_ABI, governance],
] as const

describe('calls of precompiles', () => {
  it.each(PRECOMPILES)('%s has the functions', (address, abi, precompile) => {
    expect(bytesToHex(precompile.address)).toBe(address)
    const signatures = precompile.functions.map(({ signature }) => signature)
    for (const item of abi) {
      if ((item.type as string) === 'function') expect(signatures).toContain(toFunctionSignature(item as AbiFunction))
    }
  })

  it.each(ACTIONS)('%o is %s', (action, functionName, args) => {
    const { to: precompile, data, value } = ethereumCall(action, OWN)
    const [, abi] = PRECOMPILES.find(([address]) => address === precompile)!
    expect(decodeFunctionData({ abi, data: data! })).toEqual({ functionName, args })
    expect(value).toBeUndefined()
  })

  it('sends coins as they are, and proposals as JSON', () => {
    expect(ethereumCall({ kind: 'send', to, amount: 7n }, OWN)).toEqual({ to: to.address, value: 7n })
    const messages = [{ '@type': '/cosmos.bank.v1beta1.MsgSend' }]
    const action = { kind: 'propose', proposal: { ...proposal, messages }, deposit: 0n } as const
    const { args } = decodeFunctionData({ abi: GOV_ABI, data: ethereumCall(action, OWN).data! })
    expect(args[2]).toEqual([])
    expect(JSON.parse(hexToString(args[1] as Hex))).toEqual({
      messages,
      title: 'Title',
      summary: 'Why\nnot',
      metadata: 'ipfs://a',
      expedited: false,
    })
  })
})

describe('changes of parameters', () => {
  it.each(Object.entries(PARAMETER_MESSAGES))('of %s are messages that governance may send', (module, typeUrl) => {
    expect(GOV_ACCOUNT).toBe(toBech32(GOVERNANCE))
    const { type } = MESSAGES.get(typeUrl)!
    const message = parameterChange(module, {})
    expect(message).toEqual({ '@type': typeUrl, authority: GOV_ACCOUNT, params: {} })
    const { '@type': _, ...json } = message
    const read = type.fromJson(json as never, { typeOf: () => undefined }) as { readonly authority: string }
    expect(read.authority).toBe(GOV_ACCOUNT)
  })

  it.each<readonly [string, ReturnType<typeof readMessages> | RegExp]>([
    ['[]', []],
    ['{"@type": "/a.B", "c": 1}', [{ '@type': '/a.B', c: 1 }]],
    ['[{"@type": "/a.B"}]', [{ '@type': '/a.B' }]],
    ['', /^The messages are not valid JSON/],
    ['[{"@type": 1}]', /@type/],
    ['[null]', /@type/],
    ['7', /@type/],
  ])('%s as a person writes them', (text, expected) => {
    const read = readMessages(text)
    if (expected instanceof RegExp) expect(read).toMatch(expected)
    else expect(read).toEqual(expected)
  })
})

describe('native messages', () => {
  const registry = new Registry(defaultRegistryTypes)
  const aminoTypes = new AminoTypes({ ...createDefaultAminoConverters(), ...GOV_AMINO })
  const all = [
    ...ACTIONS.map(([action, , , types]) => [action, types] as const),
    [{ kind: 'send', to, amount: 7n }, ['MsgSend']] as const,
    [
      { kind: 'propose', proposal: { ...proposal, metadata: '', isExpedited: true }, deposit: 0n },
      ['MsgSubmitProposal'],
    ] as const,
  ]

  it.each(all)('%o is what the node reads, in both forms', (action, types) => {
    const messages = nativeMessages(action, own)
    expect(messages.map(({ typeUrl }) => typeUrl.split('.').at(-1))).toEqual(types)
    for (const message of messages) {
      const bytes = registry.encode(message)
      const { type, aminoName } = MESSAGES.get(message.typeUrl)!
      const read = type.decode(bytes)
      expect(bytesToHex(type.encode(read))).toBe(bytesToHex(bytes))
      const amino = aminoTypes.toAmino(message)
      expect(amino).toEqual({ type: aminoName, value: messageToAmino(type, read, MESSAGES) })
      expect(bytesToHex(registry.encode(aminoTypes.fromAmino(amino)))).toBe(bytesToHex(bytes))
    }
  })
})
