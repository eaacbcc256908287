// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {CreateEventParams} from "../interfaces/IHedgeTypes.sol";
import {IHedgeEvents} from "../interfaces/IHedgeEvents.sol";
import {IHedgePools} from "../interfaces/IHedgePools.sol";
import {Guards} from "../libraries/Guards.sol";
import {LibAttestation} from "../libraries/LibAttestation.sol";
import {LibMoney} from "../libraries/LibMoney.sol";
import {LibPool} from "../libraries/LibPool.sol";
import {HedgeEvent, LibStorage, Protocol} from "../libraries/LibStorage.sol";
import {LibToken} from "../libraries/LibToken.sol";
import {Reasons} from "../libraries/Reasons.sol";

/// @title Events: creation and pool settings.
contract EventFacet is IHedgeEvents, Guards {
    uint256 private constant MAX_NAME = 128;
    uint256 private constant MAX_UNDERLYING = 32;
    uint256 private constant MAX_TERM = 365 days;
    /// With amounts of at most 128 bits no equation over an event's own accounts overflows. Views may still revert: a
    /// payout quote for a notional beyond 160 bits, or the payment token of an unknown event.
    uint256 private constant MAX_RATE = type(uint96).max;

    /// @dev See {IHedgeEvents-createEvent}.
    function createEvent(CreateEventParams calldata _params)
        external
        virtual
        whenNotPaused
        nonReentrant
        returns (uint256 eventId)
    {
        address token = checkTerms(_params);
        LibPool.requireRoom(0, _params.initialLiquidity);
        uint256 depositId;
        (eventId, depositId) = record(_params, token, LibAttestation.consume(_params), _params.initialLiquidity);
        emit EventCreated(
            eventId,
            msg.sender,
            _params.underlying,
            _params.strike,
            _params.premiumRate,
            _params.expiryDate,
            _params.initialLiquidity
        );
        if (depositId != 0) {
            emit IHedgePools.DepositCreated(
                eventId, depositId, msg.sender, _params.initialLiquidity, _params.initialLiquidity
            );
        }
        LibToken.pull(token, LibStorage.protocol().creationFee + _params.initialLiquidity);
    }

    /// @dev See {IHedgeEvents-setPoolSettings}.
    function setPoolSettings(uint256 _eventId, bool _poolOpen, bool _allowExternalLp) external whenNotPaused {
        HedgeEvent storage e = existing(_eventId);
        require(msg.sender == e.creator, Reasons.NOT_CREATOR);
        require(e.settledAt == 0, Reasons.EVENT_SETTLED);
        e.poolOpen = _poolOpen;
        e.allowExternalLp = _allowExternalLp;
        emit PoolSettingsUpdated(_eventId, _poolOpen, _allowExternalLp);
    }

    /// @dev A range may begin on either side of the initial rate. A single strike may not, because it pays the distance
    /// between them.
    /// @return token The token to pay in.
    function checkTerms(CreateEventParams calldata p) internal view returns (address token) {
        Protocol storage s = LibStorage.protocol();
        require(s.feesInitialized, Reasons.FEES_NOT_INITIALIZED);
        require(bytes(p.name).length > 0 && bytes(p.name).length <= MAX_NAME, Reasons.BAD_NAME_LENGTH);
        require(bytes(p.underlying).length > 0 && bytes(p.underlying).length <= MAX_UNDERLYING, Reasons.BAD_UNDERLYING_LENGTH);
        require(p.strike > 0, Reasons.STRIKE_IS_ZERO);
        require(p.initialRate > 0, Reasons.INITIAL_RATE_IS_ZERO);
        require(LibMoney.max(p.strike, LibMoney.max(p.payoutCap, p.initialRate)) <= MAX_RATE, Reasons.RATE_TOO_LARGE);
        require(p.premiumRate > 0 && p.premiumRate <= LibMoney.RATE_ONE, Reasons.BAD_PREMIUM_RATE);
        require(p.expiryDate > block.timestamp && p.expiryDate <= block.timestamp + MAX_TERM, Reasons.BAD_EXPIRY);
        if (p.payoutCap == 0) {
            require(p.strikeAbove ? p.strike > p.initialRate : p.strike < p.initialRate, Reasons.STRIKE_ON_WRONG_SIDE);
        } else {
            require(p.strikeAbove ? p.payoutCap > p.strike : p.payoutCap < p.strike, Reasons.CAP_ON_WRONG_SIDE);
        }
        token = p.paymentToken == address(0) ? s.defaultToken : p.paymentToken;
        require(s.allowedToken[token], Reasons.TOKEN_NOT_ALLOWED);
        LibPool.requireFeeCap(s.creationFee, token);
    }

    /// @param shares of the seed
    /// @return eventId of the event, its pool open
    /// @return depositId of the seed; 0 for an event without a seed
    function record(CreateEventParams calldata p, address token, address signer, uint256 shares)
        internal
        returns (uint256 eventId, uint256 depositId)
    {
        Protocol storage s = LibStorage.protocol();
        eventId = ++s.eventCount;
        recordTerms(s.events[eventId], p, token, signer);
        s.events[eventId].rates = s.rates;
        s.creatorEventIds[msg.sender].push(eventId);
        LibPool.addPlatformFee(token, s.creationFee);
        if (p.initialLiquidity > 0) {
            depositId = LibPool.addDeposit(eventId, msg.sender, p.initialLiquidity, shares);
        }
    }

    function recordTerms(HedgeEvent storage e, CreateEventParams calldata p, address token, address signer) private {
        e.creator = msg.sender;
        e.poolOpen = true;
        e.allowExternalLp = p.allowExternalLp;
        e.strikeAbove = p.strikeAbove;
        e.paymentToken = token;
        e.quoteSigner = signer;
        e.strike = p.strike;
        e.payoutCap = p.payoutCap;
        e.premiumRate = p.premiumRate;
        e.expiryDate = p.expiryDate;
        e.initialRate = p.initialRate;
        e.name = p.name;
        e.underlying = p.underlying;
    }
}
