import { type Address, encodeFunctionData, type Hex, parseAbi, stringToHex } from 'viem'
import { type Action, OPTION_NUMBERS } from './action.ts'
import { DENOM } from './chain.ts'

/*
 * Transactions of an Ethereum wallet: plain transfers, and calls of the precompiles (contracts/*.sol). Their ABIs are repeated here, next to
 * ../abi/precompiles.json, because only these have types with which the compiler checks arguments.
 */

export const STAKING = '0x0000000000000000000000000000000000000800'
export const DISTRIBUTION = '0x0000000000000000000000000000000000000801'
export const GOV = '0x0000000000000000000000000000000000000805'

export const STAKING_ABI = parseAbi([
  'function delegate(address delegatorAddress, string validatorAddress, uint256 amount) returns (bool success)',
  'function undelegate(address delegatorAddress, string validatorAddress, uint256 amount) returns (int64 completionTime)',
  'function redelegate(address delegatorAddress, string validatorSrcAddress, string validatorDstAddress, uint256 amount) returns (int64 completionTime)',
  'function cancelUnbondingDelegation(address delegatorAddress, string validatorAddress, uint256 amount, uint256 creationHeight) returns (bool success)',
])
export const DISTRIBUTION_ABI = parseAbi([
  'struct Coin { string denom; uint256 amount; }',
  'function claimRewards(address delegatorAddress, uint32 maxRetrieve) returns (bool success)',
  'function withdrawDelegatorRewards(address delegatorAddress, string validatorAddress) returns (Coin[] amount)',
])
export const GOV_ABI = parseAbi([
  'struct Coin { string denom; uint256 amount; }',
  'struct WeightedVoteOption { uint8 option; string weight; }',
  'function submitProposal(address proposer, bytes jsonProposal, Coin[] deposit) returns (uint64 proposalId)',
  'function deposit(address depositor, uint64 proposalId, Coin[] amount) returns (bool success)',
  'function vote(address voter, uint64 proposalId, uint8 option, string metadata) returns (bool success)',
  'function voteWeighted(address voter, uint64 proposalId, WeightedVoteOption[] options, string metadata) returns (bool success)',
])

export interface EthereumCall {
  readonly to: Address
  readonly value?: bigint
  readonly data?: Hex
}

/** @param own the account that signs, for which it acts */
export function ethereumCall(action: Action, own: Address): EthereumCall {
  switch (action.kind) {
    case 'send':
      return { to: action.to.address as Address, value: action.amount }
    case 'call':
      return { to: action.to.address as Address, value: action.amount, data: action.data }
    case 'delegate':
    case 'undelegate': {
      const args = [own, action.validator, action.amount] as const
      return { to: STAKING, data: encodeFunctionData({ abi: STAKING_ABI, functionName: action.kind, args }) }
    }
    case 'redelegate': {
      const args = [own, action.from, action.to, action.amount] as const
      return { to: STAKING, data: encodeFunctionData({ abi: STAKING_ABI, functionName: 'redelegate', args }) }
    }
    case 'cancelUnbonding': {
      const args = [own, action.validator, action.amount, BigInt(action.height)] as const
      const functionName = 'cancelUnbondingDelegation'
      return { to: STAKING, data: encodeFunctionData({ abi: STAKING_ABI, functionName, args }) }
    }
    case 'claim':
      return { to: DISTRIBUTION, data: claimData(action.validators, own) }
    case 'vote':
      return { to: GOV, data: voteData(action, own) }
    case 'deposit': {
      const args = [own, BigInt(action.proposal), coins(action.amount)] as const
      return { to: GOV, data: encodeFunctionData({ abi: GOV_ABI, functionName: 'deposit', args }) }
    }
    case 'propose': {
      const { title, summary, metadata, isExpedited, messages } = action.proposal
      const json = stringToHex(JSON.stringify({ messages, title, summary, metadata, expedited: isExpedited }))
      const args = [own, json, coins(action.deposit)] as const
      return { to: GOV, data: encodeFunctionData({ abi: GOV_ABI, functionName: 'submitProposal', args }) }
    }
  }
}

/** Of one validator, or of all: `claimRewards` takes the first ones by their addresses, so it gets the number of all. */
function claimData(validators: readonly string[], own: Address): Hex {
  const abi = DISTRIBUTION_ABI
  const [first] = validators
  return first !== undefined && validators.length === 1
    ? encodeFunctionData({ abi, functionName: 'withdrawDelegatorRewards', args: [own, first] })
    : encodeFunctionData({ abi, functionName: 'claimRewards', args: [own, validators.length] })
}

function voteData({ proposal, options }: Action & { readonly kind: 'vote' }, own: Address): Hex {
  const [first] = options
  const numbered = options.map(({ option, weight }) => ({ option: OPTION_NUMBERS[option], weight }))
  return first !== undefined && options.length === 1
    ? encodeFunctionData({
        abi: GOV_ABI,
        functionName: 'vote',
        args: [own, BigInt(proposal), OPTION_NUMBERS[first.option], ''],
      })
    : encodeFunctionData({ abi: GOV_ABI, functionName: 'voteWeighted', args: [own, BigInt(proposal), numbered, ''] })
}

function coins(amount: bigint) {
  return amount === 0n ? [] : [{ denom: DENOM, amount }]
}
