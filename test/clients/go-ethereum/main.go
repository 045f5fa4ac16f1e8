// Talks to a node by go-ethereum's own clients; ends with 1 at the first answer that is not as expected.
package main

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"log"
	"math/big"
	"os"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/ethclient/gethclient"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/ethereum/go-ethereum/trie"
)

const erc20 = `[{"type":"function","name":"transfer","inputs":[{"name":"to","type":"address"},{"name":"value","type":"uint256"}],"outputs":[{"type":"bool"}]},
{"type":"function","name":"balanceOf","stateMutability":"view","inputs":[{"name":"a","type":"address"}],"outputs":[{"type":"uint256"}]},
{"type":"event","name":"Transfer","inputs":[{"name":"from","type":"address","indexed":true},{"name":"to","type":"address","indexed":true},{"name":"value","type":"uint256"}]}]`

func must[T any](value T, err error) T {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
	return value
}

func expect(isTrue bool, format string, args ...any) {
	if !isTrue {
		log.Fatalf(format, args...)
	}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	connection := must(rpc.DialContext(ctx, os.Getenv("WS_URL")))
	client, geth := ethclient.NewClient(connection), gethclient.New(connection)
	key := must(crypto.HexToECDSA(strings.TrimPrefix(os.Getenv("PRIVATE_KEY"), "0x")))
	from := crypto.PubkeyToAddress(key.PublicKey)
	token := common.HexToAddress(os.Getenv("TOKEN"))
	contract := must(abi.JSON(strings.NewReader(erc20)))

	chainID := must(client.ChainID(ctx))
	expect(chainID.String() == os.Getenv("CHAIN_ID"), "chain ID %s", chainID)

	balance := must(contract.Pack("balanceOf", from))
	held := new(big.Int).SetBytes(must(client.CallContract(ctx, ethereum.CallMsg{To: &token, Data: balance}, nil)))
	expect(held.Sign() > 0, "the account holds no token")
	transfer := must(contract.Pack("transfer", common.HexToAddress("0x1234"), big.NewInt(1)))
	message := ethereum.CallMsg{From: from, To: &token, Data: transfer}

	simulate(ctx, client, message, token)
	send(ctx, client, geth, key, message)
	readLogs(ctx, client, contract, token)
	trace(ctx, client, connection)
}

// simulate has two blocks: a call that moves coins to a contract which an override makes, then one that reads the overridden clock.
func simulate(ctx context.Context, client *ethclient.Client, message ethereum.CallMsg, token common.Address) {
	clock := common.HexToAddress("0xc10c")
	code := common.FromHex("0x425f5260205ff3") // TIMESTAMP
	coins := ethereum.CallMsg{From: message.From, To: &clock, Value: big.NewInt(7)}
	head := must(client.HeaderByNumber(ctx, nil))
	result := must(client.SimulateV1(ctx, ethclient.SimulateOptions{
		BlockStateCalls: []ethclient.SimulateBlock{
			{StateOverrides: map[common.Address]ethereum.OverrideAccount{clock: {Code: code}}, Calls: []ethereum.CallMsg{message, coins}},
			{BlockOverrides: &ethereum.BlockOverrides{Time: head.Time + 1000}, Calls: []ethereum.CallMsg{{To: &clock}}},
		},
		TraceTransfers:         true,
		ReturnFullTransactions: true,
	}, nil))
	expect(len(result) == 2 && len(result[0].Calls) == 2, "%d simulated blocks", len(result))
	for _, call := range result[0].Calls {
		expect(call.Status == 1 && len(call.Logs) == 1, "a simulated call has status %d and %d logs", call.Status, len(call.Logs))
	}
	expect(result[0].Calls[0].Logs[0].Address == token, "the token's log is not there")
	seen := new(big.Int).SetBytes(result[1].Calls[0].ReturnValue)
	expect(seen.Uint64() == head.Time+1000, "the simulated clock says %s", seen)
	fmt.Println("SimulateV1: two blocks, overrides, transfers as logs")
}

func send(ctx context.Context, client *ethclient.Client, geth *gethclient.Client, key *ecdsa.PrivateKey, message ethereum.CallMsg) {
	heads := make(chan *types.Header, 100)
	headFeed := must(client.SubscribeNewHead(ctx, heads))
	defer headFeed.Unsubscribe()
	all := make(chan []*types.Receipt, 100)
	allFeed := must(client.SubscribeTransactionReceipts(ctx, nil, all))
	defer allFeed.Unsubscribe()

	tip := must(client.SuggestGasTipCap(ctx))
	head := must(client.HeaderByNumber(ctx, nil))
	list, _, failure, err := geth.CreateAccessList(ctx, message)
	expect(err == nil && failure == "" && len(*list) > 0, "access list: %v %s", err, failure)
	tx := must(types.SignNewTx(key, types.LatestSignerForChainID(must(client.ChainID(ctx))), &types.DynamicFeeTx{
		ChainID: must(client.ChainID(ctx)), Nonce: must(client.PendingNonceAt(ctx, message.From)), To: message.To, Data: message.Data,
		Gas: must(client.EstimateGas(ctx, message)), GasTipCap: tip, GasFeeCap: new(big.Int).Add(tip, new(big.Int).Mul(head.BaseFee, big.NewInt(2))),
	}))
	mine := make(chan []*types.Receipt, 10)
	query := &ethereum.TransactionReceiptsQuery{TransactionHashes: []common.Hash{tx.Hash()}}
	mineFeed := must(client.SubscribeTransactionReceipts(ctx, query, mine))
	defer mineFeed.Unsubscribe()
	if err := client.SendTransaction(ctx, tx); err != nil {
		log.Fatal(err)
	}
	told := <-mine
	expect(len(told) == 1 && told[0].TxHash == tx.Hash() && told[0].Status == 1, "receipts of the subscription: %v", told)
	for isThere := false; !isThere; {
		for _, receipt := range <-all {
			isThere = isThere || receipt.TxHash == tx.Hash()
		}
	}
	for next := <-heads; next.Number.Cmp(told[0].BlockNumber) < 0; next = <-heads {
	}
	receipt := must(client.TransactionReceipt(ctx, tx.Hash()))
	expect(receipt.GasUsed == told[0].GasUsed && len(receipt.Logs) == 1, "the receipt differs: %v", receipt)
	block := must(client.BlockByHash(ctx, receipt.BlockHash))
	expect(block.Transaction(tx.Hash()) != nil, "the block lacks the transaction")
	expect(types.DeriveSha(block.Transactions(), trie.NewStackTrie(nil)) == block.TxHash(), "the root of the block's transactions differs")
	proof := must(geth.GetProof(ctx, *message.To, []string{"0x0"}, receipt.BlockNumber))
	expect(len(proof.AccountProof) > 0 && len(proof.StorageProof) == 1, "no proof")
	fmt.Println("SubscribeTransactionReceipts (all and by hash), SubscribeNewHead, a sent transaction, access list, proof")
}

func readLogs(ctx context.Context, client *ethclient.Client, contract abi.ABI, token common.Address) {
	first, _ := new(big.Int).SetString(os.Getenv("TOKEN_BLOCK"), 10)
	logs := must(client.FilterLogs(ctx, ethereum.FilterQuery{
		FromBlock: first, Addresses: []common.Address{token}, Topics: [][]common.Hash{{contract.Events["Transfer"].ID}},
	}))
	var count int
	fmt.Sscan(os.Getenv("TOKEN_TRANSFERS"), &count)
	expect(len(logs) > count, "%d logs of transfers", len(logs))
	fmt.Println("FilterLogs:", len(logs), "transfers")
}

func trace(ctx context.Context, client *ethclient.Client, connection *rpc.Client) {
	type call struct {
		Type, To string
		Logs     []any
	}
	var one call
	hash := common.HexToHash(os.Getenv("TOKEN_TX"))
	config := map[string]any{"tracer": "callTracer", "tracerConfig": map[string]any{"withLog": true}}
	if err := connection.CallContext(ctx, &one, "debug_traceTransaction", hash, config); err != nil {
		log.Fatal(err)
	}
	expect(one.Type == "CALL" && len(one.Logs) == 1, "trace: %v", one)

	receipt := must(client.TransactionReceipt(ctx, hash))
	var all []struct {
		TxHash common.Hash
		Result call
	}
	if err := connection.CallContext(ctx, &all, "debug_traceBlockByHash", receipt.BlockHash, config); err != nil {
		log.Fatal(err)
	}
	expect(len(all) == int(must(client.TransactionCount(ctx, receipt.BlockHash))), "%d traces of a block", len(all))
	expect(all[receipt.TransactionIndex].TxHash == hash, "traces are not in the order of the block")
	expect(fmt.Sprint(all[receipt.TransactionIndex].Result) == fmt.Sprint(one), "the trace of the block differs")
	fmt.Println("debug_traceTransaction, debug_traceBlockByHash: callTracer with logs")
}
