// SPDX-License-Identifier: MIT
pragma solidity 0.8.34;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {Currency, Prices, PriceTerms, RequestTerms} from "../types/Types.sol";

/// @title Who pays, what it costs and who is owed
/// @notice A subscription is a prepaid balance in each currency that its owner's consumers ask from. Whoever asks without one
/// pays with the request. What requests pay out, and what comes back to direct payers, is a credit that its owner withdraws.
/// @dev Subscriptions and credits move by no other hand than their owner's: governance sets prices of later requests, and can stop
/// new ones.
/// @dev Warning: the fee token must move and keep exact amounts. Transfers with a fee are refused; a token that changes
/// balances later (rebasing) is not supported. Its supply must stay below 2^104 units, which is the most that a balance here can
/// hold: beyond it a settlement whose credit does not fit would revert. Tokens and coins sent by a plain transfer belong to nobody or are refused.
interface IAccounts {
    /// @param subscriptionId consecutive from 1
    event SubscriptionCreated(uint48 indexed subscriptionId, address indexed owner);
    /// @param allowed whether the consumer may spend from it
    event ConsumerSet(uint48 indexed subscriptionId, address indexed consumer, bool allowed);
    event SubscriptionTransferStarted(uint48 indexed subscriptionId, address indexed from, address indexed to);
    event SubscriptionTransferred(uint48 indexed subscriptionId, address indexed from, address indexed to);
    /// @param amount in the smallest unit of the currency, as in all events here
    event SubscriptionFunded(uint48 indexed subscriptionId, address indexed from, Currency currency, uint256 amount);
    /// @notice The owner took unspent funds out.
    event SubscriptionWithdrawn(uint48 indexed subscriptionId, address indexed to, Currency currency, uint256 amount);
    /// @notice A credit was paid out.
    event Withdrawn(address indexed account, address indexed to, Currency currency, uint256 amount);
    /// @notice Requests from now on cost this. Those made before keep their price list.
    /// @param version in the ids of the requests that it is for, from 0
    event PricesSet(Currency indexed currency, uint16 indexed version, PriceTerms prices);
    /// @notice No new requests in this currency are taken; everything else goes on.
    event RequestsPaused(Currency indexed currency);
    /// @notice New requests in this currency are taken again.
    event RequestsUnpaused(Currency indexed currency);

    error UnknownSubscription(uint48 subscriptionId);
    error NotSubscriptionOwner(uint48 subscriptionId, address caller);
    error NotPendingOwner(uint48 subscriptionId, address caller);
    /// @notice The owner of the subscription has not allowed this consumer.
    error NotConsumer(uint48 subscriptionId, address caller);
    error InsufficientFunds(uint48 subscriptionId, Currency currency, uint256 balance, uint256 required);
    error InsufficientCredit(address account, Currency currency, uint256 credit, uint256 required);
    /// @notice The call must carry exactly `expected` wei; 0 where nothing is paid in the native coin.
    error WrongValue(uint256 expected, uint256 received);
    /// @notice See `quote`.
    error FeeTooLow(uint256 fee, uint256 required);
    /// @notice `field` is the name of the member of `PriceTerms` as a left-aligned string.
    error InvalidPrices(bytes32 field, uint256 value);
    /// @notice A balance of 2^104 units or more.
    error BalanceOverflow(uint256 balance, uint256 added);
    error RequestsArePaused(Currency currency);
    error RequestsAreNotPaused(Currency currency);
    /// @notice The fee token moved another amount than asked (fee on transfer, rebasing): refused.
    error TransferMismatch(uint256 expected, uint256 received);

    /// @notice Creates a subscription of the caller.
    /// @return subscriptionId consecutive from 1
    function createSubscription() external returns (uint48 subscriptionId);

    /// @notice Lets a consumer spend from the subscription, or no longer. Only its owner; what was asked goes on.
    function setConsumer(uint48 subscriptionId, address consumer, bool allowed) external;

    /// @notice Offers the subscription to somebody else; 0 takes the offer back. Only its owner.
    function transferSubscription(uint48 subscriptionId, address to) external;

    /// @notice Takes an offered subscription over.
    /// @dev Warning: the consumers that the owner before has allowed stay allowed. `ConsumerSet` says who they are.
    function acceptSubscription(uint48 subscriptionId) external;

    /// @notice Moves `amount` of the fee token from the caller into the subscription. Anybody may.
    function fund(uint48 subscriptionId, uint256 amount) external;

    /// @notice Moves the coins that come with the call into the subscription. Anybody may.
    function fundNative(uint48 subscriptionId) external payable;

    /// @notice Takes funds that are not in escrow out of the subscription. Only its owner.
    function withdrawFunds(uint48 subscriptionId, Currency currency, uint256 amount, address to) external;

    /// @notice Pays out `amount` of the caller's credit.
    function withdraw(Currency currency, uint256 amount, address to) external;

    /// @notice Sets what later requests cost. Only who the access manager allows to.
    /// @dev Bounds: treasuryPpm at most 200,000; gasPriceCap a multiple of 10^6 and below 2^32 times that; of the native coin
    /// gasRate 10^18. At most 65,535 times per currency.
    function setPrices(Currency currency, PriceTerms calldata prices) external;

    /// @notice Stops new requests in one currency. Only who the access manager allows to; reverts if they are stopped.
    /// @dev What was asked is drawn, decided, appealed against, settled and refunded as ever.
    function pauseRequests(Currency currency) external;

    /// @notice Takes new requests again. Only who the access manager allows to; reverts if they are not stopped.
    function unpauseRequests(Currency currency) external;

    /// @notice The smallest fee of a request with these terms now, whatever fee they name: every unit of pay that it can come to
    /// at the unit price, and, at the gas price cap, the relayers' gas of every round and the delivery.
    /// @param terms packed by `RequestTermsLib.pack`
    function quote(RequestTerms terms) external view returns (uint256 fee);

    /// @notice The price list in force, and whether requests are taken; see `PricesLib`.
    function pricesOf(Currency currency) external view returns (Prices);

    /// @notice A price list, in force or not: that of the requests whose ids have its version. `open` is not part of it.
    function priceListOf(Currency currency, uint16 version) external view returns (Prices);

    /// @param owner 0 if there is no such subscription
    /// @param pendingOwner whom it is offered to, or 0
    /// @param requests how many were made from it; 0 is the number of direct payers' subscription
    function subscriptionOf(
        uint48 subscriptionId
    )
        external
        view
        returns (address owner, address pendingOwner, uint256 tokenBalance, uint256 nativeBalance, uint48 requests);

    /// @notice Whether the consumer may spend from the subscription.
    function isConsumer(uint48 subscriptionId, address consumer) external view returns (bool);

    /// @notice What the account can withdraw: pay, refunds of direct payers, bonds that came back.
    function creditOf(address account, Currency currency) external view returns (uint256);

    /// @notice The token of fees and pay in `Currency.Token`.
    function feeToken() external view returns (IERC20);

    /// @notice Who gets the treasury's part.
    function treasury() external view returns (address);
}
