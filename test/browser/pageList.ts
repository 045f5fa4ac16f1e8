import type { Hex } from 'viem'
import { toBech32 } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { ACCOUNTS } from '../e2e/devChain.ts'
import { HOSTILE_NAME } from '../e2e/explorer/abuse.ts'
import { type FilledChain, SENDER, STAKER } from '../e2e/explorer/fillChain.ts'

/** A page of the explorer, or one of its tabs. */
export interface Visit {
  /** also of its screenshot */
  readonly name: string
  readonly path: string
  readonly tab?: string
  /** texts of this chain that are there */
  readonly shows: readonly (string | RegExp)[]
}

/** What a list of pages is about. */
export interface Places extends FilledChain {
  /** a contract with verified sources */
  readonly verified: Hex
  /** of both validators */
  readonly validator: string
  readonly silent: string
  /** of a node that reports */
  readonly moniker: string
}

const coin = (address: string): string => toBech32(hexToBytes(address))

/** Every page with every tab. */
export function pageList(places: Places): readonly Visit[] {
  const { evmHashes, nativeHash, tokens, evm, verified, validator, silent, moniker } = places
  const tx = `tx/${evm.mixed}`
  const sender = `address/${SENDER}`
  const contract = `address/${evm.child}`
  const [erc20, erc721, erc1155] = tokens
  return [
    { name: 'home', path: '', shows: ['Latest blocks', 'Transactions per hour', 'Validators', 'gwei'] },
    { name: 'blocks', path: 'blocks', shows: ['Fee recipient'] },
    { name: 'block', path: 'block/2', shows: ['Consensus hash', /0x[0-9a-f]{64}/] },
    { name: 'transactions', path: 'transactions', shows: ['Create contract', 'CreateValidator'] },
    { name: 'transaction', path: tx, shows: ['successful', 'Coin movements'] },
    { name: 'transaction-logs', path: tx, tab: 'Logs', shows: ['Transfer'] },
    { name: 'transaction-calls', path: tx, tab: 'Internal calls', shows: ['delegatecall', 'execution reverted'] },
    { name: 'transaction-state', path: `tx/${evm.creation}`, tab: 'State changes', shows: [evm.child] },
    { name: 'transaction-failed', path: `tx/${evmHashes[2]}`, shows: ['failed'] },
    { name: 'transaction-native', path: `tx/${nativeHash}`, shows: ['/cosmos.bank.v1beta1.MsgSend', 'drop table'] },
    { name: 'transaction-unknown', path: `tx/0x${'12'.repeat(32)}`, shows: ['no such transaction'] },
    { name: 'account', path: sender, shows: [coin(SENDER), 'COIN'] },
    { name: 'account-coins', path: sender, tab: 'Coins', shows: ['fee', 'transfer'] },
    { name: 'account-stake', path: `address/${coin(STAKER)}`, tab: 'Stake', shows: ['devnet'] },
    { name: 'account-votes', path: `address/${STAKER}`, tab: 'Votes', shows: ['Proposal 1', 'No with veto'] },
    { name: 'account-calls', path: contract, tab: 'Internal calls', shows: ['selfdestruct'] },
    { name: 'account-tokens', path: sender, tab: 'Tokens', shows: ['SMPL'] },
    {
      name: 'account-token-transfers',
      path: `address/${ACCOUNTS[3]!.address}`,
      tab: 'Token transfers',
      shows: ['SMPL'],
    },
    { name: 'contract', path: contract, tab: 'Contract', shows: ['the contract sent its coins away'] },
    {
      name: 'contract-code',
      path: `address/${verified}`,
      tab: 'Code',
      shows: ['contract WrappedCoin', 'pragma solidity'],
    },
    { name: 'contract-read', path: `address/${verified}`, tab: 'Read', shows: ['balanceOf', 'totalSupply'] },
    { name: 'contract-write', path: `address/${verified}`, tab: 'Write', shows: ['Connect'] },
    { name: 'contract-logs', path: `address/${erc20}`, tab: 'Logs', shows: ['Transfer'] },
    { name: 'tokens', path: 'tokens', shows: ['SMPL', HOSTILE_NAME] },
    { name: 'token', path: `token/${erc20}`, shows: ['SMPL', 'Holders'] },
    { name: 'token-holders', path: `token/${erc20}`, tab: 'Holders', shows: [SENDER.slice(0, 8)] },
    { name: 'token-erc721', path: `token/${erc721}`, shows: ['ERC-721'] },
    { name: 'token-erc1155', path: `token/${erc1155}`, shows: ['ERC-1155'] },
    { name: 'contracts', path: 'contracts', shows: ['CREATE2'] },
    { name: 'validators', path: 'validators', shows: ['devnet'] },
    { name: 'validators-inactive', path: 'validators', tab: 'Inactive', shows: [/si'lent|All validators are active/] },
    { name: 'validator', path: `validator/${validator}`, shows: ['Last blocks', 'devnet'] },
    { name: 'validator-delegators', path: `validator/${validator}`, tab: 'Delegators', shows: ['COIN'] },
    { name: 'validator-silent', path: `validator/${silent}`, shows: ["si'lent"] },
    { name: 'governance', path: 'governance', shows: ['voting', 'drop table'] },
    { name: 'proposal', path: 'proposal/1', shows: ['Tally', 'the quorum is', 'replaced by a later one'] },
    { name: 'propose', path: 'propose', shows: ['Connect'] },
    { name: 'parameters', path: 'parameters', shows: ['feemarket', 'unbonding_time'] },
    { name: 'network', path: 'network', shows: [moniker] },
    { name: 'mempool', path: 'mempool', shows: ['Mempool'] },
    { name: 'statistics', path: 'statistics', shows: ['Gas', 'New accounts'] },
    { name: 'verify', path: 'verify', shows: ['Verify'] },
    { name: 'faucet', path: 'faucet', shows: ['100 COIN'] },
    { name: 'staking', path: 'staking', shows: ['devnet', 'Connect'] },
    { name: 'wallet', path: 'wallet', shows: ['Connect'] },
    { name: 'no-page', path: 'nothing/here', shows: ['This page does not exist.'] },
  ]
}
