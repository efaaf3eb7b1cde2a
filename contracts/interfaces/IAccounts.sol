// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {Balances} from "../libraries/BalancesLib.sol";
import {Currency, Prices, PriceTerms, RequestTerms} from "../types/Types.sol";

/// @title Subscriptions, prices and credits
/// @notice A subscription is a prepaid balance in each currency; the consumers that its owner allows pay their requests
/// from it. An asker without a subscription pays with the request. Payouts of requests and refunds of direct payers
/// become credits, which their owners withdraw.
/// @dev Only their owners can move subscriptions and credits. Governance sets the prices of later requests and can stop
/// new ones.
/// @dev Warning: the fee token must move and keep exact amounts. Transfers with a fee are refused; a token that changes
/// balances later (rebasing) is not supported. Its supply must stay below 2^104 units, which is the most that a balance here can
/// hold: beyond it a settlement whose credit does not fit would revert. Tokens and coins sent by a plain transfer belong to nobody or are refused.
interface IAccounts {
    /// @param subscriptionId consecutive from 1
    event SubscriptionCreated(uint48 indexed subscriptionId, address indexed owner);
    /// @param tokenAllowance how much the consumer may escrow from now on in tokens; 0 = nothing, 2^104 - 1 = any amount
    /// @param nativeAllowance the same in the chain's coin
    event ConsumerSet(
        uint48 indexed subscriptionId,
        address indexed consumer,
        uint104 tokenAllowance,
        uint104 nativeAllowance
    );
    event SubscriptionTransferStarted(uint48 indexed subscriptionId, address indexed from, address indexed to);
    event SubscriptionTransferred(uint48 indexed subscriptionId, address indexed from, address indexed to);
    /// @param amount in the smallest unit of the currency, as in all events here
    event SubscriptionFunded(uint48 indexed subscriptionId, address indexed from, Currency currency, uint256 amount);
    /// @notice The owner took unspent funds out.
    event SubscriptionWithdrawn(uint48 indexed subscriptionId, address indexed to, Currency currency, uint256 amount);
    /// @notice A credit was paid out.
    event Withdrawn(address indexed account, address indexed to, Currency currency, uint256 amount);
    /// @notice The prices of requests changed from now on. Earlier requests keep their price list.
    /// @param version the version that the ids of its requests carry, from 0
    event PricesSet(Currency indexed currency, uint16 indexed version, PriceTerms prices);
    /// @notice No new requests in this currency are taken; everything else goes on.
    event RequestsPaused(Currency indexed currency);
    /// @notice New requests in this currency are taken again.
    event RequestsUnpaused(Currency indexed currency);

    error UnknownSubscription(uint48 subscriptionId);
    error NotSubscriptionOwner(uint48 subscriptionId, address caller);
    error NotPendingOwner(uint48 subscriptionId, address caller);
    /// @notice The consumer's allowance in the currency of the request is 0: it was never set, was set to 0, or is used up.
    error NotConsumer(uint48 subscriptionId, address caller);
    /// @notice The consumer may escrow `allowance` from the subscription, less than the fee; see `setConsumer`.
    error AllowanceExceeded(uint48 subscriptionId, address caller, uint256 allowance, uint256 required);
    error InsufficientFunds(uint48 subscriptionId, Currency currency, uint256 balance, uint256 required);
    error InsufficientCredit(address account, Currency currency, uint256 credit, uint256 required);
    /// @notice The call must carry exactly `expected` wei; 0 where nothing is paid in the native coin.
    error WrongValue(uint256 expected, uint256 received);
    /// @notice See `quote`.
    error FeeTooLow(uint256 fee, uint256 required);
    /// @notice `field` is the name of the member of `PriceTerms` as a left-aligned string.
    error InvalidPrices(bytes32 field, uint256 value);
    /// @notice The balance would reach 2^104 units.
    error BalanceOverflow(uint256 balance, uint256 added);
    error RequestsArePaused(Currency currency);
    error RequestsAreNotPaused(Currency currency);
    /// @notice The fee token moved another amount than asked (fee on transfer, rebasing): refused.
    error TransferMismatch(uint256 expected, uint256 received);

    /// @notice Creates a subscription of the caller.
    /// @return subscriptionId consecutive from 1
    function createSubscription() external returns (uint48 subscriptionId);

    /// @notice Sets how much a consumer may escrow from the subscription from now on, in each currency. Only the owner may
    /// call; earlier requests go on.
    /// @dev Each request takes its fee off the allowance. What comes back from a request goes to the subscription and
    /// does not raise the allowance. An allowance replaces the one before: a request that is mined first has used the old
    /// one, so to lower the sum of both, set 0 first.
    /// @param tokenAllowance 0 = nothing, as for every consumer that was never set; 2^104 - 1 = any amount, for ever
    /// @param nativeAllowance the same in the chain's coin
    function setConsumer(
        uint48 subscriptionId,
        address consumer,
        uint104 tokenAllowance,
        uint104 nativeAllowance
    ) external;

    /// @notice Offers the subscription to another account; 0 withdraws the offer. Only the owner may call.
    function transferSubscription(uint48 subscriptionId, address to) external;

    /// @notice Accepts an offered subscription.
    /// @dev Warning: the consumers that the previous owner has allowed stay allowed. `ConsumerSet` lists them.
    function acceptSubscription(uint48 subscriptionId) external;

    /// @notice Moves `amount` of the fee token from the caller into the subscription. Anybody may call.
    function fund(uint48 subscriptionId, uint256 amount) external;

    /// @notice Moves the coins that come with the call into the subscription. Anybody may call.
    function fundNative(uint48 subscriptionId) external payable;

    /// @notice Withdraws funds that are not in escrow from the subscription. Only the owner may call.
    function withdrawFunds(uint48 subscriptionId, Currency currency, uint256 amount, address to) external;

    /// @notice Pays out `amount` of the caller's credit.
    function withdraw(Currency currency, uint256 amount, address to) external;

    /// @notice Sets the prices of later requests. Only accounts that the access manager allows may call.
    /// @dev Bounds: treasuryPpm at most 200,000; gasPriceCap a multiple of 10^6 and below 2^32 times that; of the native coin
    /// gasRate 10^18. At most 65,535 times per currency.
    function setPrices(Currency currency, PriceTerms calldata prices) external;

    /// @notice Stops new requests in one currency. Only accounts that the access manager allows may call; reverts if
    /// they are stopped already.
    /// @dev Earlier requests are drawn, decided, appealed against, settled and refunded as before.
    function pauseRequests(Currency currency) external;

    /// @notice Allows new requests again. Only accounts that the access manager allows may call; reverts if they are
    /// not stopped.
    function unpauseRequests(Currency currency) external;

    /// @notice The smallest fee of a request with these terms now, whatever fee they name: all units of pay that the
    /// request can cost at the unit price, and the gas of every round's relayer and of the delivery at the gas price
    /// cap.
    /// @param terms packed by `RequestTermsLib.pack`
    function quote(RequestTerms terms) external view returns (uint256 fee);

    /// @notice The price list in force, and whether requests are taken; see `PricesLib`.
    function pricesOf(Currency currency) external view returns (Prices);

    /// @notice A price list by its version, in force or not; the ids of its requests carry the version. `open` is not
    /// set.
    function priceListOf(Currency currency, uint16 version) external view returns (Prices);

    /// @param owner the owner; 0 if the subscription does not exist
    /// @param pendingOwner whom it is offered to, or 0
    /// @param requests how many were made from it; 0 is the number of direct payers' subscription
    function subscriptionOf(
        uint48 subscriptionId
    )
        external
        view
        returns (address owner, address pendingOwner, uint256 tokenBalance, uint256 nativeBalance, uint48 requests);

    /// @notice How much the consumer may still escrow from the subscription, in each currency; see `setConsumer`. The
    /// count of the word is 0.
    function allowanceOf(uint48 subscriptionId, address consumer) external view returns (Balances);

    /// @notice The amount that the account can withdraw: pay, refunds of direct payers, returned bonds.
    function creditOf(address account, Currency currency) external view returns (uint256);

    /// @notice The token of fees and pay in `Currency.Token`.
    function feeToken() external view returns (IERC20);

    /// @notice The account that gets the treasury's part of the pay.
    function treasury() external view returns (address);
}
