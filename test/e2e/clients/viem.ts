import {
  type BaseError,
  type ContractFunctionRevertedError,
  createPublicClient,
  createWalletClient,
  getContractAddress,
  type Hex,
  http,
  type PublicClient,
  parseGwei,
  type Transport,
  type WalletClient,
  webSocket,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  ACCOUNTS,
  CHAIN_ID,
  COIN,
  ERC20_ABI,
  freshAddress,
  GWEI,
  NATIVE_TOKEN,
  VAULT_ABI,
  vaultBytecode,
  viemChain,
} from '../devChain.ts'

import { until } from '../rpc.ts'
import type { TestNode } from '../startNode.ts'

let node: TestNode

/** viem, over both transports. */
export function viemTests(devnet: () => TestNode): void {
  beforeAll(() => {
    node = devnet()
  })

  describe.each([
    ['http', () => http(node.url), ACCOUNTS[1]!],
    ['webSocket', () => webSocket(node.wsUrl), ACCOUNTS[2]!],
  ] as const)('viem over %s', (_name, makeTransport, account) => {
    let reader: PublicClient
    let writer: WalletClient
    let vault: Hex

    const write = { account, chain: undefined } as const
    const receiptOf = (hash: Hex) => reader.waitForTransactionReceipt({ hash })

    beforeAll(async () => {
      const transport: Transport = makeTransport()
      const chain = viemChain(node.url)
      reader = createPublicClient({ chain, transport, pollingInterval: 100 }) as PublicClient
      writer = createWalletClient({ chain, transport, account })
      const nonce = BigInt(await reader.getTransactionCount({ address: account.address }))
      const hash = await writer.deployContract({
        ...write,
        abi: VAULT_ABI,
        bytecode: vaultBytecode(),
        args: [7n],
        value: 3n,
      })
      const receipt = await receiptOf(hash)
      expect(receipt).toMatchObject({ status: 'success', to: null, from: account.address.toLowerCase() })
      vault = receipt.contractAddress!
      expect(vault.toLowerCase()).toBe(getContractAddress({ from: account.address, nonce }).toLowerCase())
    })

    // Otherwise it would connect again and again when the node is gone.
    afterAll(async () => {
      const client = await reader.transport['getRpcClient']?.()
      client?.close()
    })

    it('knows the chain', async () => {
      expect(await reader.getChainId()).toBe(CHAIN_ID)
      const block = await reader.getBlock()
      expect(block.number).toBeGreaterThan(0n)
      expect((await reader.getBlock({ blockHash: block.hash })).hash).toBe(block.hash)
      expect(await reader.getTransactionCount({ address: account.address })).toBeGreaterThan(0)
    })

    it('sends coins and waits for the receipt', async () => {
      const to = freshAddress()
      const hash = await writer.sendTransaction({ ...write, to, value: COIN })
      const receipt = await receiptOf(hash)
      expect(receipt).toMatchObject({ status: 'success', type: 'eip1559', gasUsed: 21_000n, transactionHash: hash })
      expect(await reader.getBalance({ address: to })).toBe(COIN)
      expect(await reader.getBalance({ address: to, blockNumber: receipt.blockNumber - 1n })).toBe(0n)
      const transaction = await reader.getTransaction({ hash })
      expect(transaction).toMatchObject({ blockHash: receipt.blockHash, to: to.toLowerCase(), value: COIN })
      const block = await reader.getBlock({ blockHash: receipt.blockHash, includeTransactions: true })
      expect(block.transactions[receipt.transactionIndex]).toMatchObject({ hash })
    })

    it('sends and waits in one call', async () => {
      const request = await writer.prepareTransactionRequest({ ...write, to: freshAddress(), value: 5n })
      const serializedTransaction = await account.signTransaction({ ...request, chainId: CHAIN_ID } as never)
      const receipt = await writer.sendRawTransactionSync({ serializedTransaction })
      expect(receipt).toMatchObject({ status: 'success', gasUsed: 21_000n })
    })

    it('sends each type of transaction that a wallet can ask for', async () => {
      const to = freshAddress()
      const gasPrice = await reader.getGasPrice()
      const accessList = [{ address: vault, storageKeys: [`0x${'00'.repeat(31)}01` as Hex] }]
      const common = { ...write, to, value: 1n } as const
      const hashes = [
        await writer.sendTransaction({ ...common, type: 'legacy', gasPrice }),
        await writer.sendTransaction({ ...common, type: 'eip2930', gasPrice, accessList }),
        await writer.sendTransaction({ ...common, type: 'eip1559', accessList }),
      ]
      const receipts = await Promise.all(hashes.map(receiptOf))
      expect(receipts.map(({ status, type, gasUsed }) => ({ status, type, gasUsed }))).toEqual([
        { status: 'success', type: 'legacy', gasUsed: 21_000n },
        { status: 'success', type: 'eip2930', gasUsed: 21_000n + 2_400n + 1_900n },
        { status: 'success', type: 'eip1559', gasUsed: 21_000n + 2_400n + 1_900n },
      ])
      expect(await reader.getBalance({ address: to })).toBe(3n)
      expect((await reader.getTransaction({ hash: hashes[1]! })).accessList).toEqual([
        { address: vault.toLowerCase(), storageKeys: accessList[0]!.storageKeys },
      ])
    })

    it('delegates an account to code with EIP-7702', async () => {
      const delegate = privateKeyToAccount(generatePrivateKey())
      const authorization = await delegate.signAuthorization({ address: vault, chainId: CHAIN_ID, nonce: 0 })
      const hash = await writer.sendTransaction({
        ...write,
        to: delegate.address,
        authorizationList: [authorization],
        data: '0x06661abd', // count()
      })
      const receipt = await receiptOf(hash)
      expect(receipt).toMatchObject({ status: 'success', type: 'eip7702' })
      expect(await reader.getCode({ address: delegate.address })).toBe(`0xef0100${vault.slice(2).toLowerCase()}`)
      expect(await reader.getTransactionCount({ address: delegate.address })).toBe(1)
      // The code reads the storage of the account that it was lent to.
      expect(await reader.readContract({ address: delegate.address, abi: VAULT_ABI, functionName: 'count' })).toBe(0n)
      expect(await reader.readContract({ address: vault, abi: VAULT_ABI, functionName: 'count' })).toBeGreaterThan(6n)
      const [sent] = (await reader.getTransaction({ hash })).authorizationList!
      expect(sent).toMatchObject({ address: vault.toLowerCase(), chainId: CHAIN_ID, nonce: 0 })
    })

    it('calls, writes, and reads logs', async () => {
      const first = await reader.readContract({ address: vault, abi: VAULT_ABI, functionName: 'count' })
      const { request, result } = await reader.simulateContract({
        account,
        address: vault,
        abi: VAULT_ABI,
        functionName: 'deposit',
        args: ['hello'],
        value: 12n,
      })
      expect(result).toBeUndefined()
      const receipt = await receiptOf(await writer.writeContract(request))
      const logs = await reader.getContractEvents({
        address: vault,
        abi: VAULT_ABI,
        eventName: 'Deposited',
        args: { from: account.address },
        fromBlock: receipt.blockNumber,
        strict: true,
      })
      expect(logs).toHaveLength(1)
      expect(logs[0]).toMatchObject({
        args: { from: account.address, number: first, amount: 12n, note: 'hello' },
        transactionHash: receipt.transactionHash,
        blockHash: receipt.blockHash,
        removed: false,
      })
      expect(
        await reader.getContractEvents({
          address: vault,
          abi: VAULT_ABI,
          eventName: 'Deposited',
          args: { number: first + 1n },
          fromBlock: 0n,
        }),
      ).toEqual([])
      const held = { address: vault, abi: VAULT_ABI, functionName: 'deposits', args: [account.address] } as const
      expect(await reader.readContract(held)).toBe(12n)
      expect(await reader.readContract({ ...held, blockNumber: receipt.blockNumber - 1n })).toBe(0n)
    })

    it('decodes custom errors, reasons and panics, of calls, estimates and mined transactions', async () => {
      const failure = async (action: Promise<unknown>): Promise<ContractFunctionRevertedError['data'] | string> => {
        const error = await action.then(
          () => expect.fail('it went through'),
          (reason: unknown) => reason,
        )
        const reverted = (error as BaseError).walk((cause) => (cause as Error).name === 'ContractFunctionRevertedError')
        return (reverted as ContractFunctionRevertedError).data ?? 'no data'
      }
      const contract = { address: vault, abi: VAULT_ABI, account } as const
      const expected = { errorName: 'InsufficientDeposit', args: [account.address, 0n, 99n] }
      const withdrawal = { ...contract, functionName: 'withdraw', args: [10_099n] } as const
      const held = await reader.readContract({ ...contract, functionName: 'deposits', args: [account.address] })
      expect(await failure(reader.simulateContract(withdrawal))).toMatchObject({
        ...expected,
        args: [account.address, held, 10_099n],
      })
      expect(await failure(reader.estimateContractGas(withdrawal))).toMatchObject({
        errorName: 'InsufficientDeposit',
      })
      expect(await failure(reader.readContract({ ...contract, functionName: 'refuse' }))).toMatchObject({
        errorName: 'Error',
        args: ['refused'],
      })
      expect(await failure(reader.readContract({ ...contract, functionName: 'divide', args: [1n, 0n] }))).toMatchObject(
        {
          errorName: 'Panic',
          args: [0x12n],
        },
      )
      const hash = await writer.writeContract({ ...withdrawal, ...write, gas: 100_000n })
      expect(await receiptOf(hash)).toMatchObject({ status: 'reverted', logs: [] })
    })

    it('shows the native token as an ERC-20 contract', async () => {
      const token = { address: NATIVE_TOKEN, abi: ERC20_ABI } as const
      expect(await reader.readContract({ ...token, functionName: 'symbol' })).toBe('COIN')
      const to = freshAddress()
      const receipt = await receiptOf(
        await writer.writeContract({ ...write, ...token, functionName: 'transfer', args: [to, 77n] }),
      )
      expect(await reader.getBalance({ address: to })).toBe(77n)
      const logs = await reader.getContractEvents({ ...token, eventName: 'Transfer', blockHash: receipt.blockHash })
      expect(logs.map(({ args }) => args)).toContainEqual({ from: account.address, to, value: 77n })
      await expect(
        reader.simulateContract({ ...token, account, functionName: 'transfer', args: [to, 10n ** 30n] }),
      ).rejects.toThrow('ERC20InsufficientBalance')
    })

    it('watches blocks, events and pending transactions', async () => {
      const blocks: bigint[] = []
      const notes: string[] = []
      const pending: Hex[] = []
      const failures: Error[] = []
      const onError = (error: Error): void => void failures.push(error)
      const stops = [
        reader.watchBlocks({ onBlock: ({ number }) => void blocks.push(number), onError, emitMissed: true }),
        reader.watchContractEvent({
          address: vault,
          abi: VAULT_ABI,
          eventName: 'Deposited',
          strict: true,
          onLogs: (logs) => notes.push(...logs.map(({ args }) => args.note)),
          onError,
        }),
        reader.watchPendingTransactions({ onTransactions: (hashes) => void pending.push(...hashes), onError }),
      ]
      await until('first block', async () => blocks.length > 0)
      const contract = { ...write, address: vault, abi: VAULT_ABI, functionName: 'deposit' } as const
      const sent = [
        await writer.writeContract({ ...contract, args: ['one'] }),
        await writer.writeContract({ ...contract, args: ['two'] }),
      ]
      await Promise.all(sent.map(receiptOf))
      await until('both events', async () => notes.length >= 2)
      await until('both hashes', async () => sent.every((hash) => pending.includes(hash)))
      await until('three blocks', async () => blocks.length >= 3)
      for (const stop of stops) stop()
      expect(failures).toEqual([])
      expect(notes).toEqual(['one', 'two'])
      expect(blocks).toEqual(blocks.map((_, index) => blocks[0]! + BigInt(index)))
    })

    it('replaces a waiting transaction for 10 % more and fills the gap before it', async () => {
      const nonce = await reader.getTransactionCount({ address: account.address, blockTag: 'pending' })
      const fees = { maxFeePerGas: parseGwei('10'), maxPriorityFeePerGas: parseGwei('1') }
      const gas = 21_000n
      const [former, latter, filler] = [freshAddress(), freshAddress(), freshAddress()]
      const replaced = await writer.sendTransaction({ ...write, to: former, value: 1n, nonce: nonce + 1, gas, ...fees })
      const replacements: string[] = []
      const successor = reader.waitForTransactionReceipt({
        hash: replaced,
        onReplaced: ({ reason }) => replacements.push(reason),
      })
      // viem finds the successor by the sender and the nonce hash of the transaction, so it must have seen that.
      const height = await reader.getBlockNumber()
      await until('two blocks', async () => (await reader.getBlockNumber({ cacheTime: 0 })) > height + 1n)
      const replacement = { ...write, to: latter, value: 2n, nonce: nonce + 1, gas } as const
      await expect(
        writer.sendTransaction({
          ...replacement,
          maxFeePerGas: (fees.maxFeePerGas * 109n) / 100n,
          maxPriorityFeePerGas: (fees.maxPriorityFeePerGas * 109n) / 100n,
        }),
      ).rejects.toThrow('replacement transaction underpriced')
      const hash = await writer.sendTransaction({
        ...replacement,
        maxFeePerGas: (fees.maxFeePerGas * 110n) / 100n,
        maxPriorityFeePerGas: (fees.maxPriorityFeePerGas * 110n) / 100n,
      })
      expect(await reader.getTransactionCount({ address: account.address, blockTag: 'pending' })).toBe(nonce)
      expect((await reader.getTransaction({ hash })).blockNumber).toBeNull()
      await receiptOf(await writer.sendTransaction({ ...write, to: filler, value: 3n, nonce }))
      expect(await receiptOf(hash)).toMatchObject({ status: 'success' })
      expect(await successor).toMatchObject({ transactionHash: hash })
      expect(replacements).toEqual(['replaced'])
      const balances = [former, latter, filler].map((address) => reader.getBalance({ address }))
      expect(await Promise.all(balances)).toEqual([0n, 2n, 3n])
      expect(await reader.getTransactionCount({ address: account.address })).toBe(nonce + 2)
    })

    it('refuses what cannot be paid or comes too late, in words that viem knows', async () => {
      const nameOf = (action: Promise<unknown>) =>
        action.then(
          () => 'accepted',
          (error: BaseError) =>
            (error.walk((cause) => /^(Nonce|Insufficient)/.test((cause as Error).name)) as Error)?.name,
        )
      const transfer = { ...write, to: freshAddress(), gas: 21_000n } as const
      expect(await nameOf(writer.sendTransaction({ ...transfer, nonce: 0 }))).toBe('NonceTooLowError')
      expect(await nameOf(writer.sendTransaction({ ...transfer, value: 10n ** 30n }))).toBe('InsufficientFundsError')
    })

    it('estimates fees', async () => {
      const { maxFeePerGas, maxPriorityFeePerGas } = await reader.estimateFeesPerGas()
      const { baseFeePerGas } = await reader.getBlock()
      expect(baseFeePerGas).toBeGreaterThanOrEqual(GWEI)
      expect(maxPriorityFeePerGas).toBeGreaterThan(0n)
      expect(maxFeePerGas).toBeGreaterThanOrEqual(baseFeePerGas! + maxPriorityFeePerGas)
      const history = await reader.getFeeHistory({ blockCount: 4, rewardPercentiles: [10, 50.5] })
      expect(history.baseFeePerGas.length).toBe(history.gasUsedRatio.length + 1)
      expect(history.reward?.map((row) => row.length)).toEqual(history.gasUsedRatio.map(() => 2))
      const { accessList, gasUsed } = await reader.createAccessList({
        account,
        to: vault,
        data: '0x06661abd', // count()
      })
      expect(accessList).toEqual([{ address: vault.toLowerCase(), storageKeys: [`0x${'00'.repeat(31)}01`] }])
      expect(gasUsed).toBeGreaterThan(21_000n)
    })

    it('simulates blocks of calls, with what they really cost and log', async () => {
      const { address } = account
      const to = freshAddress()
      const erc20 = { to: NATIVE_TOKEN, abi: ERC20_ABI, functionName: 'transfer', args: [to, 5n] } as const
      const blocks = await reader.simulateBlocks({
        blocks: [
          {
            calls: [
              { account: address, ...erc20 },
              { account: address, to, value: 7n },
            ],
          },
          { calls: [{ account: to, to: address, value: 12n }] },
        ],
        traceTransfers: true,
      })
      expect(blocks.map(({ calls }) => calls.map(({ status }) => status))).toEqual([
        ['success', 'success'],
        ['success'],
      ])
      const { gasUsed, logs } = await receiptOf(
        await writer.writeContract({
          ...write,
          address: NATIVE_TOKEN,
          abi: ERC20_ABI,
          functionName: 'transfer',
          args: [to, 5n],
        }),
      )
      const [simulated] = blocks[0]!.calls
      expect(simulated!.gasUsed).toBe(gasUsed)
      expect(simulated!.logs!.map(({ topics, data }) => ({ topics, data }))).toEqual(
        logs.map(({ topics, data }) => ({ topics, data })),
      )
      const { results, assetChanges } = await reader.simulateCalls({
        account: address,
        calls: [{ to, value: COIN }],
        traceAssetChanges: true,
      })
      expect(results[0]!.status).toBe('success')
      expect(assetChanges[0]!.value.diff).toBe(-COIN)
    })
  })
}
