// Talks to a node over gRPC with the generated clients of the Cosmos SDK; ends with 1 at the first answer that is not as expected.
package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	sdkmath "cosmossdk.io/math"
	"github.com/cosmos/cosmos-sdk/client/grpc/cmtservice"
	"github.com/cosmos/cosmos-sdk/client/grpc/node"
	"github.com/cosmos/cosmos-sdk/codec"
	"github.com/cosmos/cosmos-sdk/codec/types"
	"github.com/cosmos/cosmos-sdk/crypto/keys/secp256k1"
	"github.com/cosmos/cosmos-sdk/std"
	sdk "github.com/cosmos/cosmos-sdk/types"
	"github.com/cosmos/cosmos-sdk/types/bech32"
	"github.com/cosmos/cosmos-sdk/types/query"
	"github.com/cosmos/cosmos-sdk/types/tx"
	"github.com/cosmos/cosmos-sdk/types/tx/signing"
	auth "github.com/cosmos/cosmos-sdk/x/auth/types"
	bank "github.com/cosmos/cosmos-sdk/x/bank/types"
	distribution "github.com/cosmos/cosmos-sdk/x/distribution/types"
	gov "github.com/cosmos/cosmos-sdk/x/gov/types/v1"
	mint "github.com/cosmos/cosmos-sdk/x/mint/types"
	slashing "github.com/cosmos/cosmos-sdk/x/slashing/types"
	staking "github.com/cosmos/cosmos-sdk/x/staking/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

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
	// The SDK's own codec, which knows its number types.
	registry := types.NewInterfaceRegistry()
	for _, register := range []func(types.InterfaceRegistry){std.RegisterInterfaces, auth.RegisterInterfaces, bank.RegisterInterfaces, staking.RegisterInterfaces, gov.RegisterInterfaces} {
		register(registry)
	}
	sdkCodec := grpc.WithDefaultCallOptions(grpc.ForceCodec(codec.NewProtoCodec(registry).GRPCCodec()))
	dial := func(options ...grpc.DialOption) *grpc.ClientConn {
		return must(grpc.NewClient(os.Getenv("GRPC_ADDRESS"), append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...))
	}
	connection := dial(sdkCodec)
	defer connection.Close()
	readModules(ctx, connection)
	heights(ctx, connection)
	transact(ctx, connection)
	// That codec refuses messages of modules which the SDK does not have.
	plain := dial()
	defer plain.Close()
	readEthereum(ctx, plain)
}

func readModules(ctx context.Context, connection *grpc.ClientConn) {
	chain := must(cmtservice.NewServiceClient(connection).GetNodeInfo(ctx, &cmtservice.GetNodeInfoRequest{}))
	expect(chain.DefaultNodeInfo.Network == os.Getenv("COSMOS_CHAIN_ID"), "network %s", chain.DefaultNodeInfo.Network)
	latest := must(cmtservice.NewServiceClient(connection).GetLatestBlock(ctx, &cmtservice.GetLatestBlockRequest{}))
	expect(latest.SdkBlock.Header.Height > 0, "no block")
	must(cmtservice.NewServiceClient(connection).GetLatestValidatorSet(ctx, &cmtservice.GetLatestValidatorSetRequest{}))
	must(node.NewServiceClient(connection).Config(ctx, &node.ConfigRequest{}))
	must(node.NewServiceClient(connection).Status(ctx, &node.StatusRequest{}))

	validators := must(staking.NewQueryClient(connection).Validators(ctx, &staking.QueryValidatorsRequest{Status: "BOND_STATUS_BONDED"}))
	expect(len(validators.Validators) == 1, "%d validators", len(validators.Validators))
	operator := validators.Validators[0].OperatorAddress
	must(staking.NewQueryClient(connection).Params(ctx, &staking.QueryParamsRequest{}))
	must(staking.NewQueryClient(connection).Pool(ctx, &staking.QueryPoolRequest{}))
	delegations := must(staking.NewQueryClient(connection).ValidatorDelegations(ctx, &staking.QueryValidatorDelegationsRequest{ValidatorAddr: operator}))
	expect(len(delegations.DelegationResponses) > 0, "no delegation")

	must(distribution.NewQueryClient(connection).ValidatorOutstandingRewards(ctx, &distribution.QueryValidatorOutstandingRewardsRequest{ValidatorAddress: operator}))
	must(distribution.NewQueryClient(connection).CommunityPool(ctx, &distribution.QueryCommunityPoolRequest{}))
	must(slashing.NewQueryClient(connection).SigningInfos(ctx, &slashing.QuerySigningInfosRequest{}))
	must(mint.NewQueryClient(connection).Inflation(ctx, &mint.QueryInflationRequest{}))
	must(gov.NewQueryClient(connection).Params(ctx, &gov.QueryParamsRequest{ParamsType: "voting"}))
	must(gov.NewQueryClient(connection).Proposals(ctx, &gov.QueryProposalsRequest{}))

	supply := must(bank.NewQueryClient(connection).TotalSupply(ctx, &bank.QueryTotalSupplyRequest{Pagination: &query.PageRequest{Limit: 1}}))
	expect(len(supply.Supply) == 1, "supply %v", supply.Supply)
	must(bank.NewQueryClient(connection).DenomsMetadata(ctx, &bank.QueryDenomsMetadataRequest{}))
	fmt.Println("bank, staking, distribution, slashing, mint, gov, node and CometBFT services")
}

// heights asks for a block, and for one that is not there yet.
func heights(ctx context.Context, connection *grpc.ClientConn) {
	past := metadata.AppendToOutgoingContext(ctx, "x-cosmos-block-height", "2")
	var header metadata.MD
	must(bank.NewQueryClient(connection).Params(past, &bank.QueryParamsRequest{}, grpc.Header(&header)))
	expect(len(header.Get("x-cosmos-block-height")) == 1 && header.Get("x-cosmos-block-height")[0] == "2", "height %v", header)
	future := metadata.AppendToOutgoingContext(ctx, "x-cosmos-block-height", "1000000")
	_, err := bank.NewQueryClient(connection).Params(future, &bank.QueryParamsRequest{})
	expect(status.Code(err) == codes.InvalidArgument, "a height to come: %v", err)
	_, err = staking.NewQueryClient(connection).Validator(ctx, &staking.QueryValidatorRequest{ValidatorAddr: "nobody"})
	expect(status.Code(err) == codes.InvalidArgument, "an address that is none: %v", err)
	err = connection.Invoke(ctx, "/ibc.core.connection.v1.Query/ConnectionParams", &bank.QueryParamsRequest{}, &bank.QueryParamsResponse{})
	expect(status.Code(err) == codes.Unimplemented && status.Convert(err).Message() == "unknown service ibc.core.connection.v1.Query", "a service that is none: %v", err)
	fmt.Println("x-cosmos-block-height in and out, status codes")
}

// transact sends coins from the account that a key has in the Cosmos SDK, which is another one than in Ethereum.
func transact(ctx context.Context, connection *grpc.ClientConn) {
	key := &secp256k1.PrivKey{Key: must(hex.DecodeString(strings.TrimPrefix(os.Getenv("PRIVATE_KEY"), "0x")))}
	sender := must(bech32.ConvertAndEncode("coin", key.PubKey().Address()))
	receiver := must(bech32.ConvertAndEncode("coin", []byte("a receiver of coins.")))
	found := must(auth.NewQueryClient(connection).AccountInfo(ctx, &auth.QueryAccountInfoRequest{Address: sender}))
	held := func(address string) sdkmath.Int {
		return must(bank.NewQueryClient(connection).Balance(ctx, &bank.QueryBalanceRequest{Address: address, Denom: "acoin"})).Balance.Amount
	}
	before := held(receiver)

	coins := func(amount int64) sdk.Coins { return sdk.Coins{{Denom: "acoin", Amount: sdkmath.NewInt(amount)}} }
	message := must(types.NewAnyWithValue(&bank.MsgSend{FromAddress: sender, ToAddress: receiver, Amount: coins(7)}))
	sign := func(gas uint64) []byte {
		body := must((&tx.TxBody{Messages: []*types.Any{message}, Memo: "cosmos-sdk"}).Marshal())
		info := must((&tx.AuthInfo{
			SignerInfos: []*tx.SignerInfo{{
				PublicKey: must(types.NewAnyWithValue(key.PubKey())),
				ModeInfo:  &tx.ModeInfo{Sum: &tx.ModeInfo_Single_{Single: &tx.ModeInfo_Single{Mode: signing.SignMode_SIGN_MODE_DIRECT}}},
				Sequence:  found.Info.Sequence,
			}},
			Fee: &tx.Fee{Amount: coins(int64(gas) * 2_000_000_000), GasLimit: gas},
		}).Marshal())
		document := tx.SignDoc{BodyBytes: body, AuthInfoBytes: info, ChainId: os.Getenv("COSMOS_CHAIN_ID"), AccountNumber: found.Info.AccountNumber}
		raw := tx.TxRaw{BodyBytes: body, AuthInfoBytes: info, Signatures: [][]byte{must(key.Sign(must(document.Marshal())))}}
		return must(raw.Marshal())
	}
	service := tx.NewServiceClient(connection)
	simulated := must(service.Simulate(ctx, &tx.SimulateRequest{TxBytes: sign(0)}))
	raw := sign(simulated.GasInfo.GasUsed * 3 / 2)
	sent := must(service.BroadcastTx(ctx, &tx.BroadcastTxRequest{TxBytes: raw, Mode: tx.BroadcastMode_BROADCAST_MODE_SYNC}))
	expect(sent.TxResponse.Code == 0, "refused: %s", sent.TxResponse.RawLog)
	var included *tx.GetTxResponse
	for included == nil {
		answer, err := service.GetTx(ctx, &tx.GetTxRequest{Hash: sent.TxResponse.TxHash})
		expect(err == nil || status.Code(err) == codes.NotFound, "GetTx: %v", err)
		included = answer
		time.Sleep(100 * time.Millisecond)
	}
	expect(included.TxResponse.Code == 0 && included.Tx.Body.Memo == "cosmos-sdk", "the transaction: %v", included.TxResponse)
	expect(held(receiver).Sub(before).Equal(sdkmath.NewInt(7)), "the coins did not arrive")
	search := fmt.Sprintf("message.sender='%s'", sender)
	own := must(service.GetTxsEvent(ctx, &tx.GetTxsEventRequest{Query: search, Limit: 10}))
	expect(len(own.TxResponses) > 0, "GetTxsEvent finds nothing")
	block := must(service.GetBlockWithTxs(ctx, &tx.GetBlockWithTxsRequest{Height: included.TxResponse.Height}))
	expect(len(block.Txs) > 0, "GetBlockWithTxs has no transaction")
	decoded := must(service.TxDecode(ctx, &tx.TxDecodeRequest{TxBytes: raw}))
	encoded := must(service.TxEncode(ctx, &tx.TxEncodeRequest{Tx: decoded.Tx}))
	expect(bytes.Equal(encoded.TxBytes, raw), "TxEncode does not give what TxDecode took")
	fmt.Println("Simulate, BroadcastTx, GetTx, GetTxsEvent, GetBlockWithTxs, TxDecode, TxEncode")
}

// readEthereum reads a transfer of the EVM, which is a transaction with MsgEthereumTx.
func readEthereum(ctx context.Context, connection *grpc.ClientConn) {
	hash := strings.TrimPrefix(os.Getenv("TOKEN_TX"), "0x")
	found := must(tx.NewServiceClient(connection).GetTx(ctx, &tx.GetTxRequest{Hash: hash}))
	message := found.Tx.Body.Messages[0]
	expect(message.TypeUrl == "/cosmos.evm.vm.v1.MsgEthereumTx", "message %s", message.TypeUrl)
	expect(found.TxResponse.GasUsed > 21000, "gas used %d", found.TxResponse.GasUsed)
	fmt.Println("GetTx: a transaction of the EVM with MsgEthereumTx")
}
